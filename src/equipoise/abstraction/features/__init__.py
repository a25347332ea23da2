"""What a hand is like: exact features of every hand of a street."""
