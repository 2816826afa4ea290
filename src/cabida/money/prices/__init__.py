"""Prices: the book read for one accelerator, ways to hold it, and APIs."""
