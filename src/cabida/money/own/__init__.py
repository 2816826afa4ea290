"""Owning: capital, energy, people, spares, what is left at the end, and carbon."""
