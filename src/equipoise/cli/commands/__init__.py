"""The commands: arguments in, one library call, print."""
