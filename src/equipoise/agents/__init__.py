"""Agents: what sits down at a table, and what can be measured."""
