"""The rules of a game, the betting state, and their text forms."""
