"""The commands of ``prunemodels``: what each reads, does, says and writes. `prunemodels.cli` parses."""
