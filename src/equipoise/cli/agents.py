"""Agents for the commands that play: read into memory, and shown under short names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.cli.render.names import short_names

if TYPE_CHECKING:
    from equipoise.agents.agent import Agent


def load_agent(what: str, game: str) -> Agent:
    """The agent that a WHAT names; without one, the shipped agent. It survives changes of its files."""
    from equipoise.agents.named import load_player
    from equipoise.agents.search.agent import SearchAgent
    from equipoise.agents.shipped import DEFAULT
    from equipoise.agents.tree_agent import TreeAgent

    agent: Agent = load_player(what or DEFAULT, game, copied=True)
    if not isinstance(agent, TreeAgent | SearchAgent):
        return agent
    return replace(agent, name=short_names([agent.name])[0])  # type: ignore[type-var]  # all are dataclasses
