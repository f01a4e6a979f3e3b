"""Searches on the value function: TD search, Dyna-2, alpha-beta, two-phase search."""
