"""A local Kubernetes control plane: real etcd, API server, controllers and scheduler, simulated nodes.

Layout of one cluster, all under ``<home>/run/NAME/``: ``state.json`` (what was started), ``kubeconfig``, ``pki/``, ``etcd/``,
``logs/``, ``volumes/``. With root it lives in a network namespace of its own, where pod and service addresses are local; the host
reaches only its API server, over a veth pair. Without root it listens on loopback, and pod addresses are not reachable.
"""
