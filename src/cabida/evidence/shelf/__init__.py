"""What a team keeps together: briefs, decisions, benchmark runs, jobs, who may do what, and who did it."""
