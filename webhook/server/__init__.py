"""The admission service: its paths, its readiness, its certificates and its life in a worker."""
