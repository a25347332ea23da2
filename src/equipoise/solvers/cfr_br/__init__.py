"""CFR-BR: the least exploitable strategy that an abstraction can hold (Johanson, Bard, Burch and Bowling 2012).

`full.py` computes a best response of the whole game in every iteration. The hybrid agent computes one below a trunk, in
sampled subgames. One update of the hybrid agent, file by file:

1. `hybrid.py`: an iteration of one seat. `_Seat.run` discounts the tables, fetches the iteration's subgames and updates
   from them. A seat is an abstracted player (role 0) and its own unabstracted opponent (role 1).
2. `subgame_prefetch.py`: samples boards (in cycles, or by `board_curriculum.py`) and has their subgames dealt.
3. `tree/subgame_boards.py`: deals a subgame: its boards, and for each role the buckets that occur, its rows.
4. `subgame_engine.py`: `prepare` makes what the walks read, once for a subgame; `update` runs the kernels.
5. `subgame_walk.py`: `update_run`, the kernel of one update. It loads the subgame's rows from the tables of the run,
   walks as the opponent (regrets in the trunk, best responses below), walks as the abstracted player (who answers
   them), and adds both players' sums to the run. Above the last street a walk is that of `walk/bucketed_walk.py`.
6. `subgame_tables.py`: loading rows and adding sums: regret matching and the regret update of the last street.
7. `subgame_last_street.py`: decisions of the last street, sixteen betting entries side by side.
"""
