"""A solved strategy for the exact measure: its profile, and the bucket of every hole on the boards of a walk."""

from __future__ import annotations

from equipoise.abstraction.maps.live_map import Buckets, full_map
from equipoise.agents.card_blind import ByBucket, ProfileStrategy
from equipoise.strategy.file import StrategyFile
from equipoise.strategy.profile import Profile
from equipoise.tree.board_buckets import buckets_of_places


def blueprint(strategy: StrategyFile) -> ProfileStrategy:
    """The strategy of a file."""
    return profile_agent(strategy.name, strategy.profile, strategy.buckets)


def profile_agent(name: str, profile: Profile, buckets: Buckets) -> ProfileStrategy:
    """The strategy that plays a profile by the buckets of a map, whose tables are made when a walk needs them."""
    return ProfileStrategy(name, ByBucket(profile, lambda cards: buckets_of_places(full_map(buckets))(cards)))
