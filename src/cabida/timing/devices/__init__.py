"""What one kernel and one exchange take on an accelerator."""
