"""Search: agents that solve the rest of a hand while they play it (`agent.py`)."""

from __future__ import annotations
