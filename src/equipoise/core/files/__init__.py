"""How bytes get onto the disk and back: whole, checked, bounded."""
