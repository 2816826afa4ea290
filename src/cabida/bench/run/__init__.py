"""A plan executed, phase by phase."""
