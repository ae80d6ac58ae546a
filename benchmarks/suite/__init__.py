"""One command for everything that compares: ratios, each pair measured in one run, beside the prototype's figures."""
