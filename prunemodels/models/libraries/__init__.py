"""Readers and writers of the models of other libraries, and of the boosted models of scikit-learn."""
