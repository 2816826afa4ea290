"""Requests one by one through an engine's scheduler."""
