"""Training on many machines: solvers in parts (`solvers/split.py`) in the actors of Ray. The only importer of Ray."""
