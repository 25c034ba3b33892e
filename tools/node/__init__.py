"""One real node in a local cluster: containerd, kubelet, kube-proxy and a simulated device plugin.

They live in the cluster's network namespace and in mount and process namespaces of their own. So the kernel ends every shim and
container with the node's first process, however that ends, and no mount, socket or log folder of theirs is ever seen by the host.
What outlives them (control groups; interfaces and packet filter rules inside the cluster's network namespace; ``<cluster>/node``)
is removed by ``remains``.
"""
