"""The last street of a walk, sixteen betting entries side by side."""
