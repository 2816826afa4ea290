"""The use cases as tools of an assistant (Model Context Protocol)."""
