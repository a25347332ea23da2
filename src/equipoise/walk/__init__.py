"""The vector walk: a betting program on boards, reach down and values up, whole vectors of holes at once."""
