"""Measures of an agent: exact exploitability, local best response, AIVAT, statistics and reports."""
