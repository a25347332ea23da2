"""Files: written atomically, verified when read, bounded in size."""
