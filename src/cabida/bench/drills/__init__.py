"""Failures made on purpose, and how long until all is well: processes, network, deployments, checkpoints.

``acts`` does one drill and undoes it; ``checkpoints`` those of training jobs; ``proxy`` is the slow or cut network;
``recovery`` says from outcomes what it cost; ``jobs`` runs training for its figures.
"""
