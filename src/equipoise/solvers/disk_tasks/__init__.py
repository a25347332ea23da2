"""Public chance sampling in tasks whose tables lie on disk (Jackson 2013, section 3).

    cut.py      the game in tasks: a betting sequence of the first street, and a group of public clusters
    cards.py    the groups: which buckets and which sampled boards are theirs
    tables.py   the regrets and averages of a part's tasks, in one mapped file or in memory; their checkpoints
    head.py     the first street: opponent's reach goes out, values come back
    part.py     the tasks of one machine

One seed gives the tables of `PublicChance` bit for bit, for any number of groups, parts and threads.
"""
