"""How exploitable a strategy is."""
