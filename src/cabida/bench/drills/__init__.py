"""Failures made on purpose, and how long until all is well: processes, network, deployments, checkpoints."""
