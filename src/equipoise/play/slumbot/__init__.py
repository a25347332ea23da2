"""Slumbot's web API: a server and a client."""
