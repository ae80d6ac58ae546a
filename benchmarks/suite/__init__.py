"""All comparisons in one command: ratios of pairs that are measured in turns, and single figures beside them."""
