"""The page and the HTTP API: one application, its pages and its answers made on the server."""
