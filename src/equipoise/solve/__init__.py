"""Solvers: the vector walk and what is built on it."""
