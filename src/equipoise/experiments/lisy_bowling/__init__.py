"""Lisy and Bowling 2017, "Equilibrium Approximation Quality of Current No-Limit Poker Bots"."""

from __future__ import annotations
