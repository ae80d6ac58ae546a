"""Cost and error of any model, measured in the same way: forests, cascades, paths and learners."""
