"""Maximum closures: one pass over trees, minimum cuts, and what a flow proves."""
