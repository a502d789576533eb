"""Admission webhook and scheduler for Kubernetes."""
