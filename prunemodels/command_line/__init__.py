"""The commands of ``prunemodels``: what each reads, does, says and writes. `prunemodels.command_line.cli` parses."""
