"""What it costs, measured; not tests. Every figure of the README comes from here."""
