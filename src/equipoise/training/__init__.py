"""Training by a recipe: the loop, and what it measures on the way."""
