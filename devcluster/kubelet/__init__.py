"""A process kubelet: runs the pods of a devcluster as processes of this machine, each with an address of its own.

To be used in a sandbox (devcluster/sandbox.py). `Kubelet` is the way in; docs/notes/process-kubelet.md says what it does as
the real one does, and what it leaves out.
"""
