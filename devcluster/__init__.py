"""A throwaway Kubernetes control plane: etcd, kube-apiserver, kube-scheduler, kube-controller-manager.

with DevCluster(nodes=3) as cluster:
    print(cluster.kubectl("get", "nodes").stdout)
"""

from __future__ import annotations

from devcluster.cluster import DevCluster
from devcluster.errors import BuildError, DevClusterError, RequestError, StartError
from devcluster.nodes import Taint

__all__ = ["BuildError", "DevCluster", "DevClusterError", "RequestError", "StartError", "Taint"]
