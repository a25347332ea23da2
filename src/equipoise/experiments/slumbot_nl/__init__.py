"""Claims of the Slumbot NL paper (Jackson 2013)."""
