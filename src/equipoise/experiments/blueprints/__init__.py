"""Blueprints: what the choices of a recipe are worth."""
