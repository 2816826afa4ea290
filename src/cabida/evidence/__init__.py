"""What was observed: request traces, as the simulation takes them."""
