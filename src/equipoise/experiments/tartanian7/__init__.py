"""Figures and tables of the Tartanian7 paper (Brown, Ganzfried and Sandholm 2015)."""
