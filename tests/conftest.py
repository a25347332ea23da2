"""Hypothesis without deadlines: the first example of a test may compile a kernel."""

from hypothesis import settings

settings.register_profile("equipoise", deadline=None)
settings.load_profile("equipoise")
