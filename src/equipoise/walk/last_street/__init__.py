"""The last street of a walk, sixteen betting entries side by side.

`program.py` compiles the betting below an entry into ops, `packing.py` packs entries that share their ops into lanes,
and `terminals.py` runs the ops. Best responses (`best_response.py`, `card_blind.py`), public chance sampling
(`solvers/sampled_last_street.py`) and the hybrid agent (`solvers/cfr_br/subgame_last_street.py`) differ only in what
happens at decisions.
"""
