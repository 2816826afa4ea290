"""Nothing measured is lost: the journal, the figures summed up from it, and the observation they make."""
