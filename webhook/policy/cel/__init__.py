"""A policy as the API server can enforce it by itself, in CEL: admission policies and their bindings."""
