"""Traffic from what people have: request logs, gateway and proxy logs, a live metrics page."""
