"""HTTP to one endpoint: addresses and keys, connections, dialects of the APIs, and what became of each request."""
