"""Training runs: a step, its exchanges, its stops, the way to the target."""
