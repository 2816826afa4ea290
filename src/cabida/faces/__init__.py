"""Doors to the house: the command line. No arithmetic."""
