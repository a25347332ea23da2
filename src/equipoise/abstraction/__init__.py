"""Abstractions: which cards, boards and bets a solver tells apart."""
