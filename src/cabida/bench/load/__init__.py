"""When requests leave and what they ask: arrivals, prompts, retries, the highest rate, the client's health."""
