"""Postflop spots and small games: described, solved, shown."""
