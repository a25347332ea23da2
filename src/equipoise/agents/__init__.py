"""Agents: players at a table, and strategies that can be measured."""
