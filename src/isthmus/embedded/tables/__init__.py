"""What ``kubectl get`` prints. Pure."""
