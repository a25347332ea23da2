"""What every room stands on: compiled kernels, files, errors, the machine."""
