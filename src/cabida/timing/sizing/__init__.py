"""What a replica carries, how many a demand needs, and where latency turns."""
