"""The commands of ``prunemodels``. `commands` lists them as data, `parsing` makes the parser, `cli` runs, `summary` shows."""
