"""What is saved and loaded: forests, cascades, mixtures, matrices."""
