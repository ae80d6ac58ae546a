"""All comparisons in one command: ratios of pairs that are measured in one run, beside the figures of the prototype."""
