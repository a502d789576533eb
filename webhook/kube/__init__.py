"""Talking to the API server: transport, list and watch, Lease election, events, and what we write."""
