"""The folder of the agents that come with the package: packed files, found by name in `strategy/shipped.py`."""

DEFAULT = "nolimit-strong?search=turn"  # who plays where no agent is named
