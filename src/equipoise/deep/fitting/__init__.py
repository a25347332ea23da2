"""Training networks on memories of samples."""
