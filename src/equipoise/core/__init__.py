"""The foundation of all packages: compiled kernels, files, errors, the machine."""
