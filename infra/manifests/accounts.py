"""Service accounts, by which a cloud knows the pods and gives them access to its buckets."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put, traced
from interlock.infra.naming import label


def account_objects(config: ClusterConfig, stack: str) -> list[Manifest]:
    """The service accounts that this stack makes. None may ask the API server: no role is bound, and pods mount no token of theirs."""
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    made = []
    for index, each in enumerate(config.service_accounts):
        place = f"service_accounts[{index}]"
        account = manifest(
            "v1", "ServiceAccount", put(each.name, f"{place}.name"), config.namespace, names, automountServiceAccountToken=False
        )
        if each.annotations:
            account["metadata"]["annotations"] = traced(each.annotations, f"{place}.annotations")
        made.append(account)
    return made
