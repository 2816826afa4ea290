"""Whether an answer would be kept: rules of the brief or plan, each with its verdict."""
