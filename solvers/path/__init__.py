"""The parts of a path: how they are cut in two, guessed, verified, and put together again."""
