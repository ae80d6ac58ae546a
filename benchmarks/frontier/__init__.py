"""Held-out error against the mean cost of a prediction: every method of the package and what a user does today, one protocol.

1. A data set is split by a seed into a training, a validation and a test part (`data`). A method (`candidate.Method`, listed in
   `methods`) learns from the first two and yields candidates: hyperparameters, and mean cost, error and loss on the last two.
2. Every example pays an item once. A model that reads a fixed set of columns costs what their items cost together; a model of
   trees costs what its examples really meet, where that is told.
3. For each of the data set's budgets, of a method's candidates whose validation cost is within it the one of least validation
   error is taken, and its test error, loss and cost are reported (`choice`). Nothing else chooses; nothing is chosen on test.
4. Grids widen themselves on the first seed until validation picks no edge that is not the end of what there is (`ladder`,
   `edges`); the other seeds take the settings that the first one chose at some budget.
5. Differences are paired over seeds, with 95 % t intervals; the area under a curve is the mean error over the range of budgets
   (`comparing`). Seconds are CPU seconds of one thread.

    python -m benchmarks.frontier run [--data NAME ...] [--methods NAME ...] [--seeds N ...] [--jobs N] [--out FOLDER]
    python -m benchmarks.frontier export       # the chosen models of all finished units -> benchmarks/results/frontier.csv
    python -m benchmarks.frontier tables       # Markdown, from that file
    python -m benchmarks.frontier picture --figure FILE
    python -m benchmarks.frontier edges
"""
