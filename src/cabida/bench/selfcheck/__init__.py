"""The client measured against a server that knows the truth."""
