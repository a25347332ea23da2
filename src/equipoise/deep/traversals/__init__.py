"""Traversals that sample advantages and strategies: external sampling in lockstep, and public chance sampling."""
