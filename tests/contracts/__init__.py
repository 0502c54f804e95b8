"""Checks that a whole family of classes shares: one function for each family."""
