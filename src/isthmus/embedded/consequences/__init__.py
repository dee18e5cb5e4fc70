"""What follows from a write: the work of Kubernetes' controllers that the API's users rely on."""
