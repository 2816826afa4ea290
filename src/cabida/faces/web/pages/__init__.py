"""The pages people see, a file for each place; each lists its ROUTES."""
