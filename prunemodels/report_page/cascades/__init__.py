"""The page on a cascade: which examples stop where, what they have bought by then, and what is proven about the policy."""
