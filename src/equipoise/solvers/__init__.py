"""Solvers: what fills tables of regret and average strategy."""
