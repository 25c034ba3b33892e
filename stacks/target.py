"""Which cluster this is: named, there, and the one that the stack was deployed to before."""

import pulumi

from interlock.infra.errors import ConfigError, Problem
from interlock.infra.naming import label
from interlock.stacks.api import ApiError, NotUsableError, Reader, RefusedError, open_reader
from interlock.stacks.settings import Settings


def identify(settings: Settings) -> str:
    """The UID of the cluster. Raises ConfigError when it is not there, is another one, or the namespace is another stack's."""
    api = connect(settings)
    uid = read_uid(api, settings)
    expected, whence = settings.config.target.uid, "target.uid"
    if expected is None:
        expected, whence = remembered_uid(settings), "the stack's last update"
    if expected and expected != uid:
        raise ConfigError(
            [
                Problem(
                    "target",
                    f"context {settings.context} leads to cluster {uid}, but {whence} names {expected}: "
                    "name the right context, or set target.uid to the new cluster after destroying the old stack",
                    settings.source,
                )
            ]
        )
    check_namespace(api, settings)
    return uid


def connect(settings: Settings) -> Reader:
    """A reader for the named context. Raises ConfigError."""
    try:
        return open_reader(settings.kubeconfig, settings.context)
    except NotUsableError as error:
        raise ConfigError([Problem("target", _missing(settings, str(error)), settings.source)]) from None


def _missing(settings: Settings, reason: str) -> str:
    local = settings.config.target.local
    if local:
        return f"the local control plane {local!r} is not there: start it with `make up`"
    where = "the secret interlock:kubeconfig" if "\n" in settings.kubeconfig else settings.kubeconfig
    return f"context {settings.context!r} cannot be used from {where}: {reason}"


def read_uid(api: Reader, settings: Settings) -> str:
    """UID of the kube-system namespace: what identifies a cluster. Raises ConfigError."""
    try:
        return str(api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"])
    except RefusedError as error:
        message = f"the cluster behind {settings.context} answers {error}: check the credentials of this context"
    except (ApiError, KeyError) as error:
        hint = "start it with `make up`" if settings.config.target.local else "check the network, the VPN and the context"
        message = f"the cluster behind {settings.context} ({api.server}) does not answer as an API server ({error}): {hint}"
    raise ConfigError([Problem("target", message, settings.source)])


def check_namespace(api: Reader, settings: Settings) -> None:
    """The namespace is free or this stack's own. Raises ConfigError."""
    name, stack = settings.config.namespace, settings.stack
    labels = read_labels(api, settings)
    if labels is None:
        if settings.config.create_namespace:
            return
        way = f"an administrator makes it with `interlock render --stack {stack} --deployer | kubectl apply -f -`"
        raise ConfigError([Problem("namespace", f"{name!r} does not exist and create_namespace is false: {way}", settings.source)])
    owner = labels.get(label("stack"))
    if not settings.config.create_namespace and label("tenant") in labels:
        owner = foreign_stack(api, settings) or stack
    if owner == stack:
        return
    whose = f"belongs to stack {owner!r}" if owner else "exists and belongs to no stack"
    way = f"choose another namespace, or hand it over with `kubectl label namespace {name} {label('stack')}={stack} --overwrite`"
    raise ConfigError([Problem("namespace", f"{name!r} {whose}: {way}", settings.source)])


def read_labels(api: Reader, settings: Settings) -> dict[str, str] | None:
    """Labels of the stack's namespace; None when it does not exist. Raises ConfigError when it cannot be read."""
    name = settings.config.namespace
    try:
        return dict(api.get(f"/api/v1/namespaces/{name}")["metadata"].get("labels") or {})
    except ApiError as error:
        if isinstance(error, RefusedError) and error.status == 404:
            return None
        raise ConfigError([Problem("namespace", f"{name!r} cannot be read: {error}", settings.source)]) from None


def foreign_stack(api: Reader, settings: Settings) -> str | None:
    """Another stack that has servers in the namespace: a tenant's namespace is the platform stack's, and serves one serving stack."""
    chosen = f"{label('server')},{label('stack')}!={settings.stack}"
    try:
        found = api.get(f"/api/v1/namespaces/{settings.config.namespace}/services", labelSelector=chosen, limit="1")["items"]
    except ApiError as error:
        raise ConfigError(
            [Problem("namespace", f"Services in {settings.config.namespace!r} cannot be listed: {error}", settings.source)]
        ) from None
    return str(found[0]["metadata"]["labels"][label("stack")]) if found else None


def remembered_uid(settings: Settings) -> str | None:
    """The cluster that the stack's last update named in its outputs; None before the first update."""
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{settings.stack}"
    try:
        answer = pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", {"name": name}).value
    except Exception as error:  # the engine answers with a plain Exception when the stack has no state yet
        pulumi.log.debug(f"no outputs of {name} yet: {error}")
        return None
    outputs = (answer or {}).get("outputs") or {}
    uid = (outputs.get("interlock") or {}).get("cluster_uid")
    return str(uid) if uid else None
