"""Which cluster this is: named, there, and the one that the stack was deployed to before."""

from typing import Any

import pulumi

from interlock.infra.errors import ConfigError, Problem
from interlock.infra.naming import label
from interlock.stacks.settings import Settings

TIMEOUT = 10
"""Seconds that the cluster gets to answer."""


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


def connect(settings: Settings) -> Any:
    """A client for the named context. Raises ConfigError."""
    import yaml  # noqa: PLC0415
    from kubernetes import client, config  # noqa: PLC0415

    given = settings.kubeconfig
    try:
        if "\n" in given:
            made = config.new_client_from_config_dict(yaml.safe_load(given), context=settings.context)
        else:
            made = config.new_client_from_config(given, context=settings.context)
    except config.ConfigException as error:
        raise ConfigError([Problem("target", _missing(settings, str(error)), settings.source)]) from None
    return client.CoreV1Api(made)


def _missing(settings: Settings, reason: str) -> str:
    local = settings.config.target.local
    if local:
        return f"the local control plane {local!r} is not there: start it with `make up`"
    where = "the secret interlock:kubeconfig" if "\n" in settings.kubeconfig else settings.kubeconfig
    return f"context {settings.context!r} cannot be used from {where}: {reason}"


def read_uid(api: Any, settings: Settings) -> str:
    """UID of the kube-system namespace: what identifies a cluster. Raises ConfigError."""
    from kubernetes.client import ApiException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    try:
        return str(api.read_namespace("kube-system", _request_timeout=TIMEOUT).metadata.uid)
    except ApiException as error:
        message = f"the cluster behind {settings.context} answers {error.status} {error.reason}: check the credentials of this context"
    except HTTPError as error:
        server = api.api_client.configuration.host
        hint = "start it with `make up`" if settings.config.target.local else "check the network, the VPN and the context"
        message = f"the cluster behind {settings.context} ({server}) does not answer ({type(error).__name__}): {hint}"
    raise ConfigError([Problem("target", message, settings.source)])


def check_namespace(api: Any, settings: Settings) -> None:
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


def read_labels(api: Any, settings: Settings) -> dict[str, str] | None:
    """Labels of the stack's namespace; None when it does not exist. Raises ConfigError when it cannot be read."""
    from kubernetes.client import ApiException  # noqa: PLC0415

    name = settings.config.namespace
    try:
        return dict(api.read_namespace(name, _request_timeout=TIMEOUT).metadata.labels or {})
    except ApiException as error:
        if error.status == 404:
            return None
        raise ConfigError([Problem("namespace", f"{name!r} cannot be read: {error.status} {error.reason}", settings.source)]) from None


def foreign_stack(api: Any, settings: Settings) -> str | None:
    """Another stack that has servers in the namespace: a tenant's namespace is the platform stack's, and serves one serving stack."""
    chosen = f"{label('server')},{label('stack')}!={settings.stack}"
    found = api.list_namespaced_service(settings.config.namespace, label_selector=chosen, limit=1, _request_timeout=TIMEOUT).items
    return str(found[0].metadata.labels[label("stack")]) if found else None


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
