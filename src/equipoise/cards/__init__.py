"""Cards, hand ranks, suit isomorphism, ranges and equity."""
