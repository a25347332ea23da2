"""Runs on disk: recipes, folders, checkpoints, and the strategies in them."""
