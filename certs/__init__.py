"""Certificates for a webhook that signs its own: a CA kept in a Secret, short leaves kept in memory.

Knows cryptography and ssl, and nothing of Kubernetes but the shape of a Secret and of a webhook entry.
Keys and certificates never live in this folder; docs/notes/ca-secret.md says where they do.
"""
