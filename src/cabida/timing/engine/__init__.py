"""What one step of a serving engine takes, and the steady state it settles in."""
