"""Search at the table: what it is worth, measured exactly in games that are small enough."""
