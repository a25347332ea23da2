"""External sampling in parts (Brown, Ganzfried and Sandholm 2015, section 3, Algorithm 4): a head and blades.

The head owns the top of the game, the streets before the board; a part owns clusters of boards with all their tables.
A step is a batch of hands. The head walks the top and records the continuations it meets; each part samples a board of
each of its clusters and walks on from there; the head walks the top again, with the values of the parts in place.

We deviate in three things. The paper's pseudocode samples every cluster at every continuation but weighs only the
values; we weigh a part's own updates too, by the cluster's share of the boards, so that expected updates are those of
plain external sampling. A board serves all continuations of a deal, as in plain external sampling: this costs less and
adds less noise to differences between actions. Within a step, strategies of the top are fixed.
"""
