"""Strategies as data: action probabilities, and the files that hold them."""
