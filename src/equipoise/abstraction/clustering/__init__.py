"""Hands and boards that are alike: distances, k-means, clusters of public boards."""
