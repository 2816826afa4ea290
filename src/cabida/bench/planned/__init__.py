"""The plan as a file: written with its reasons, read back with every fault at once; what its runs cost and are worth."""
