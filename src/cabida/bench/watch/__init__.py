"""What engines and GPUs say meanwhile: metrics pages, logs, NVML, DCGM, ROCm; and the ramp to the edge of memory."""
