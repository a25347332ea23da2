"""Postflop spots and small games: described, solved, looked into."""
