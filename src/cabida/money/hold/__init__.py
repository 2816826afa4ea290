"""Holding capacity: committing, spot, a base with peaks, and the paths side by side."""
