"""A store as files that people can read: written from either database, taken into either."""
