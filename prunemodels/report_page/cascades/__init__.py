"""The page on a cascade: who stops where, what was bought by then, and what is proven of the policy."""
