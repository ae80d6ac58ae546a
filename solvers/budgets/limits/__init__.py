"""Several limits at once: one multiplier for each, one minimum cut or run of price sharing for all."""
