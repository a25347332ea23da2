"""What is in an abstraction: tables and pictures of a map."""
