"""Each change of the schema, in the order of its number."""
