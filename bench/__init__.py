"""Benchmarks: each is a module that prints a table for people and, as its last lines, JSON for machines."""
