"""The HTTP API: every use case, the same JSON as the command line."""
