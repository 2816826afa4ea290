"""The plan as a file, written with its reasons and read back with every fault at once; what its runs cost."""
