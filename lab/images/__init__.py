"""Container images without Docker and without a registry: made of layers, handed to containerd."""
