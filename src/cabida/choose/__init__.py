"""choose room."""
