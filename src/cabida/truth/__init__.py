"""truth room."""
