"""Certificates, pure: time and keys are arguments."""
