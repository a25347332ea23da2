"""Clustering of hands and boards: distances, k-means, clusters of public boards."""
