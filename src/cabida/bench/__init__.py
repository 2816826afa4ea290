"""Measure what would settle it: load, drills and telemetry on a real endpoint, told truthfully.

``outcome`` is what became of one request; ``wire`` asks it; ``load`` decides when; ``accept`` says whether the answer
would be kept; ``watch`` reads engines and GPUs meanwhile; ``drills`` break things; ``keep`` journals and sums up;
``selfcheck`` measures the client itself; ``run`` puts them in a row.
"""
