"""At the table: matches, logs, protocols, the terminal."""
