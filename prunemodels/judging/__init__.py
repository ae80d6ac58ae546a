"""Cost and error of any model, all alike: forests, cascades, paths and learners."""
