"""An in-memory Kubernetes cluster for the demo and the tests."""
