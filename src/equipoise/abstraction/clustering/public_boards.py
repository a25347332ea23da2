"""Clusters of public states that a base abstraction treats similarly (Tartanian7, section 2.2: Algorithms 2 and 3).

Algorithm 2: the distance of two public states is the share of private states that they do not send to the same
buckets of the base abstraction. Algorithm 3: each state moves to the cluster of the smallest sum of distances.

We deviate in one point: as printed, all states move simultaneously, by the labels of the previous iteration. Nearly all
then move to the smallest cluster; the others become empty, with sums of 0, and from then on all states move together
from one empty cluster to another (a test shows this). Here states move one at a time. Each move lowers the sum of
distances within clusters, so the algorithm terminates, with the balanced sizes that the paper reports.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from equipoise.core.errors import InputError
from equipoise.core.jit import F32, F64, I32, I64, U32, kernel
from equipoise.core.machine import thread_count

Objective: TypeAlias = Literal["sum", "mean", "medoid"]
PIECES = 64  # of the rows of a distance matrix, for threads


@dataclass(frozen=True)
class PublicClusters:
    """A clustering of public states, and how good it is."""

    labels: I32  # [state]
    sizes: I64  # [cluster] number of states; never 0
    weighted_sizes: F64 | None  # [cluster] the weight of its states, if weights were given
    within: float  # the mean distance of a state to the other members of its cluster, 0 in a cluster of one
    iterations: int  # passes over all states, including the last, in which nothing moves
    converged: bool

    @property
    def balance(self) -> float:
        """The size of the largest cluster divided by the mean size: 1 is perfect."""
        return float(self.sizes.max() / self.sizes.mean())

    @property
    def weighted_balance(self) -> float | None:
        """The balance by weight."""
        weights = self.weighted_sizes
        return None if weights is None else float(weights.max() / weights.mean())


def transition_table(buckets_of: npt.NDArray[np.integer], buckets: int) -> I32:
    """How many private states lead from a public state to a bucket: int32[public, bucket].

    IN: int[public, private] buckets of the base abstraction, -1 where public and private cards collide.
    """
    states = len(buckets_of)
    if buckets_of.size and not -1 <= buckets_of.min() <= buckets_of.max() < buckets:
        what = f"buckets {buckets_of.min()} to {buckets_of.max()}"
        raise InputError(what, remedy=f"use 0 to {buckets - 1}, and -1 where blocked")
    public, private = np.nonzero(buckets_of >= 0)
    places = public * buckets + buckets_of[public, private]
    return np.bincount(places, minlength=states * buckets).reshape(states, buckets).astype(np.int32)


def public_distances(table: npt.NDArray[np.integer], private_states: int, *, threads: int = 0) -> F32:
    """Algorithm 2: the share of private states that two public states do not send to the same buckets.

    d[i, j] = (V - sum over buckets of min(T[i, bucket], T[j, bucket])) / V, float32[public, public], rounded once.
    Only buckets that both states reach are visited: a few per cent of the buckets in hold'em. If every row has V
    private states, this is half the L1 distance of the rows divided by V, which satisfies the triangle inequality (the
    paper's counterexample, footnote 3, takes similarities of 0.2 for distances).
    """
    states = len(table)
    if table.size and (table.min() < 0 or table.sum(axis=1, dtype=np.int64).max() > private_states):
        raise InputError(f"a row of the table does not fit {private_states} private states", remedy="count each once")
    reached = _reached(table)
    distances = np.zeros((states, states), np.float32)

    def work(piece: int) -> None:
        first, last = states * piece // PIECES, states * (piece + 1) // PIECES
        fill_distances(first, last, reached, private_states, np.zeros(states, np.int32), distances)

    with ThreadPoolExecutor(thread_count(threads)) as pool:
        list(pool.map(work, range(PIECES)))
    return distances


class _Reached(NamedTuple):
    """The nonzero entries of a transition table, by bucket and then by state."""

    state: U32  # [place]
    counts: I32  # [place]
    bucket_end: I64  # [place] where the places of its bucket end
    places: I64  # places by state
    first: I64  # [state + 1] where a state's places start in `places`


def _reached(table: npt.NDArray[np.integer]) -> _Reached:
    bucket, state = np.nonzero(table.T)
    ends = np.cumsum(np.bincount(bucket, minlength=table.shape[1]))
    by_state = np.bincount(state, minlength=len(table))
    return _Reached(
        state=state.astype(np.uint32),
        counts=table[state, bucket].astype(np.int32),
        bucket_end=ends[bucket],
        places=np.argsort(state, kind="stable"),
        first=np.concatenate([[0], np.cumsum(by_state)]),
    )


@kernel
def fill_distances(first: int, last: int, reached: _Reached, total: int, overlap: I32, distances: F32) -> None:
    """The distances of states first to last to all later ones, both ways. OUT: int32[state] scratch, float32[s, s]."""
    for i in range(first, last):
        overlap[:] = 0
        for place in reached.places[reached.first[i] : reached.first[i + 1]]:
            mine = reached.counts[place]
            later = reached.state[place : reached.bucket_end[place]]
            theirs = reached.counts[place : reached.bucket_end[place]]
            for k in range(later.size):
                overlap[later[k]] += min(mine, theirs[k])
        for j in range(i + 1, overlap.size):
            distance = np.float32((total - overlap[j]) / total)
            distances[i, j] = distance
            distances[j, i] = distance


def cluster_public(
    distances: F32,
    clusters: int,
    *,
    seed: int,
    objective: Objective = "sum",
    iterations: int = 1000,
    weights: npt.NDArray[np.integer | np.floating] | None = None,
) -> PublicClusters:
    """Algorithm 3: clusters from pairwise distances alone.

    Seeds are drawn by k-means++, in proportion to the squared distance to earlier seeds; a seed stays in its own
    cluster, other states join the nearest seed. Then, for "sum" and "mean", states in turn move to the cluster
    with the smallest sum (or mean) of distances to its other members; for "medoid", the medoid of a cluster is the
    member with the smallest sum, and states move to the nearest medoid. A tie moves no state, so no cluster is ever
    empty, and "sum" and "medoid" always converge; "mean" might not. The lower label wins between equally near clusters.

    Weights (the number of deals of each state) do not change the clusters, only their weighted sizes.
    """
    _check(distances, clusters, objective, iterations, weights)
    seeds = _seeds(distances, clusters, np.random.default_rng(seed))
    labels = np.argmin(distances[:, seeds], axis=1).astype(np.int32)
    labels[seeds] = np.arange(clusters)
    medoids = seeds.copy()
    moved = 1
    done = 0
    sizes, sums = _tally(distances, labels, clusters)
    while moved and done < iterations:
        if objective == "medoid":
            moved = _move_to_medoids(distances, labels, medoids)
        else:
            moved = move_in_turn(distances, objective == "mean", labels, sizes, sums)
        done += 1
    sizes, sums = _tally(distances, labels, clusters)
    others = np.maximum(sizes[labels] - 1, 1)
    return PublicClusters(
        labels=labels,
        sizes=sizes,
        weighted_sizes=None if weights is None else np.bincount(labels, weights, clusters).astype(np.float64),
        within=float((sums[np.arange(len(labels)), labels] / others).mean()),
        iterations=done,
        converged=not moved,
    )


def _check(
    distances: F32, clusters: int, objective: str, iterations: int, weights: npt.NDArray[np.generic] | None
) -> None:
    states = len(distances)
    square = distances.shape == (states, states) and not distances.diagonal().any()
    if not square or not 0 <= distances.min(initial=0) <= distances.max(initial=0) < np.inf:
        raise InputError("not a matrix of distances", remedy="give a square one, 0 on the diagonal, none below 0")
    if (distances != distances.T).any():
        raise InputError("distances differ by direction", remedy="give a symmetric matrix")
    if not 1 <= clusters <= states:
        raise InputError(f"{clusters} clusters of {states} public states", remedy=f"use 1 to {states}")
    if objective not in get_args(Objective):
        raise InputError(f"objective {objective!r}", remedy=f"use one of {', '.join(get_args(Objective))}")
    if iterations < 0:
        raise InputError(f"{iterations} iterations", remedy="use 0 or more")
    if weights is not None and weights.shape != (states,):
        raise InputError(f"weights of shape {weights.shape}", remedy=f"give one for each of {states} public states")


def _seeds(distances: F32, clusters: int, rng: np.random.Generator) -> I64:
    """The states that k-means++ starts from, all different."""
    states = len(distances)
    seeds = [int(rng.integers(states))]
    nearest = distances[seeds[0]].astype(np.float64)
    while len(seeds) < clusters:
        chance = nearest**2
        if not chance.any():  # fewer different states than clusters
            chance = np.ones(states)
        chance[seeds] = 0
        seeds.append(int(rng.choice(states, p=chance / chance.sum())))
        nearest = np.minimum(nearest, distances[seeds[-1]])
    return np.array(seeds)


def _tally(distances: F32, labels: I32, clusters: int) -> tuple[I64, F64]:
    """How many states each cluster has; and the sum of distances of each state to each cluster, float64[state, c]."""
    member = np.zeros((len(labels), clusters))
    member[np.arange(len(labels)), labels] = 1
    return np.bincount(labels, minlength=clusters), distances.astype(np.float64) @ member


@kernel
def move_in_turn(distances: F32, mean: bool, labels: I32, sizes: I64, sums: F64) -> int:
    """Move each state in turn to its nearest cluster; returns the number of moves.

    IN: float32[state, state]; IN OUT: int32[state], int64[cluster], float64[state, cluster]. Distances in hold'em are
    multiples of 2^-34 up to 1, so the sums stay exact however often a state moves.
    """
    moved = 0
    for i in range(labels.size):
        old = labels[i]
        if sizes[old] == 1:
            continue
        nearest = old
        smallest = sums[i, old] / (sizes[old] - 1 if mean else 1)
        for cluster in range(sizes.size):
            value = sums[i, cluster] / (sizes[cluster] if mean else 1)
            if cluster != old and value < smallest:
                nearest = cluster
                smallest = value
        if nearest != old:
            for j in range(labels.size):
                sums[j, old] -= distances[i, j]
                sums[j, nearest] += distances[i, j]
            sizes[old] -= 1
            sizes[nearest] += 1
            labels[i] = nearest
            moved += 1
    return moved


def _move_to_medoids(distances: F32, labels: I32, medoids: I64) -> int:
    """Find new medoids and move every state to the nearest; returns how many moved. IN OUT: labels and medoids."""
    for cluster in range(len(medoids)):
        members = np.flatnonzero(labels == cluster)
        sums = distances[np.ix_(members, members)].sum(axis=1, dtype=np.float64)
        if sums.min() < sums[members == medoids[cluster]][0]:
            medoids[cluster] = members[sums.argmin()]
    to_medoids = distances[:, medoids]
    here = np.arange(len(labels))
    stays = to_medoids[here, labels] <= to_medoids.min(axis=1)
    before = labels.copy()
    labels[:] = np.where(stays, labels, to_medoids.argmin(axis=1))
    return int((labels != before).sum())
