"""Figures and tables of the CFR-BR paper (Johanson, Bard, Burch and Bowling 2012)."""
