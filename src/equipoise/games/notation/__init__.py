"""Hands as text: the ACPC protocol, Slumbot's web API, PHH histories."""
