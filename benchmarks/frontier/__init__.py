"""Held-out error against the mean cost of a prediction, by one protocol for our methods, the rivals, and what users do today.

1. A data set is split by a seed into a training, a validation and a test part (`data`). A method (`candidate.Method`, listed in
   `methods`) learns from the first two and yields candidates: hyperparameters, and mean cost, error and loss on the last two.
2. Every example pays an item once. A model that reads a fixed set of columns costs the price of all their items. A model of trees
   costs the price of the splits that its examples meet, if its trees can be read.
3. For each of the data set's budgets, validation chooses the candidate of least validation error among those whose validation
   cost is within the budget; its test error, loss and cost are reported (`candidate`). The test part plays no role in the choice.
4. On the first seed, grids are widened until validation chooses no value at an edge, but at natural ends (`candidate.climb`,
   `results`). The other seeds take the settings that the first one chose at some budget.
5. Differences are paired over seeds, with 95 % t intervals; the area under a curve is the mean error over the range of budgets
   (`tables`). Seconds are CPU seconds of one thread.

    python -m benchmarks.frontier run [--data NAME ...] [--methods NAME ...] [--seeds N ...] [--jobs N] [--out FOLDER]
    python -m benchmarks.frontier export       # the chosen models of all finished units -> benchmarks/results/frontier.csv
    python -m benchmarks.frontier tables       # Markdown, from that file
    python -m benchmarks.frontier edges
"""
