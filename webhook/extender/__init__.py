"""Our algorithms for the cluster's own kube-scheduler: the endpoints of its extender protocol."""
