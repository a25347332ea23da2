"""Slow, obvious twins of the clustering: Lloyd's iteration, transport of mass, the greedy earth mover's heuristic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

Array = npt.NDArray[Any]


def all_distances(points: Array, centroids: Array, metric: str) -> Array:
    """float64[point, centroid]."""
    if metric == "l2":
        return np.sqrt(np.square(points[:, None].astype(float) - centroids[None].astype(float)).sum(axis=2))
    shares = [np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1) for table in (points, centroids)]
    return np.abs(shares[0][:, None] - shares[1][None]).sum(axis=2) / points.shape[1]


def lloyd(points: Array, weights: Array, centroids: Array, metric: str, iterations: int) -> tuple[Array, Array, float]:
    """Centroids, labels, cost after some iterations, while labels change; an empty cluster goes to the farthest."""
    shares = points / points.sum(axis=1, keepdims=True) if metric == "emd" else points.astype(float)
    labels = np.full(len(points), -1)
    for iteration in range(iterations):
        table = all_distances(points, centroids, metric)
        found, labels, away = labels, table.argmin(axis=1), table.min(axis=1)
        if (found == labels).all() or iteration == iterations - 1:
            break
        means = centroids.astype(float)
        counts = np.bincount(labels, weights, len(centroids))
        for cluster in np.flatnonzero(counts):
            mine = labels == cluster
            means[cluster] = (shares[mine] * weights[mine, None]).sum(axis=0) / counts[cluster]
        left = np.where(weights > 0, away, 0.0)
        for cluster in np.flatnonzero(counts == 0):
            means[cluster] = shares[left.argmax()]
            left = np.minimum(left, all_distances(points, means[cluster][None], metric)[:, 0])
        centroids = means
    power = 2 if metric == "l2" else 1
    return centroids, labels, float((weights * away**power).sum() / weights.sum())


def seeding(points: Array, weights: Array, draws: Array, metric: str) -> list[int]:
    """k-means++ from given draws; points are counted centre by centre, a new centre's in the order it gets them."""
    power = 2 if metric == "l2" else 1
    lists: list[list[int]] = [list(range(len(points)))]
    cost = weights.astype(float)
    chosen: list[int] = []
    for draw in draws:
        order = [point for members in lists for point in members]
        place = np.searchsorted(np.cumsum(cost[order]), draw * cost.sum(), side="right")
        chosen.append(order[place])
        offered = weights * all_distances(points, points[chosen[-1:]], metric)[:, 0] ** power
        taken = offered < cost if len(chosen) > 1 else np.ones(len(points), np.bool_)
        lists = [[point for point in members if not taken[point]] for members in lists if len(chosen) > 1]
        lists.append([point for point in order if taken[point]])
        cost = np.where(taken, offered, cost)
    return chosen


def seeding_shares(points: Array, weights: Array, centres: int, metric: str) -> list[Array]:
    """How likely k-means++ draws each point as its first, second, ... centre: float64[point] each."""
    costs = all_distances(points, points, metric) ** (2 if metric == "l2" else 1)
    shares = [np.zeros(len(points)) for _ in range(centres)]

    def follow(chance: float, cost: Array, place: int) -> None:
        if place < centres:
            for point in np.flatnonzero(cost):
                here = chance * cost[point] / cost.sum()
                shares[place][point] += here
                follow(here, np.minimum(cost if place else np.inf, weights * costs[:, point]), place + 1)

    follow(1.0, weights.astype(float), 0)
    return shares


def transport(one: Array, two: Array, ground: Array) -> float:
    """The exact earth mover's distance of two distributions, by linear programming: float[one, two] costs."""
    rows, columns = ground.shape
    leave = np.kron(np.eye(rows), np.ones(columns))
    arrive = np.kron(np.ones(rows), np.eye(columns))
    amounts = np.concatenate([one / one.sum(), two / two.sum()])
    return float(linprog(ground.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=amounts).fun)


def greedy_transport(point: list[int], mean: Array, ground: Array) -> float:
    """The heuristic of Ganzfried and Sandholm 2014, Algorithm 2, element by element of the point."""
    support = np.flatnonzero(mean)
    remaining = mean.astype(float)
    wanted = [1 / len(point)] * len(point)
    total = 0.0
    ranked = {bucket: support[np.argsort(ground[bucket, support], kind="stable")] for bucket in set(point)}
    for place in range(len(support)):
        for element, bucket in enumerate(point):
            source = ranked[bucket][place]
            amount = min(wanted[element], remaining[source])
            total += amount * ground[bucket, source]
            wanted[element] -= amount
            remaining[source] -= amount
    return total
