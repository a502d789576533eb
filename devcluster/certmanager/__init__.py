"""cert-manager in a devcluster: its controllers and its CA injector, from its own packages.

`CertManager` is the way in; docs/notes/cert-manager.md says what it is made of, and what it leaves out.
"""
