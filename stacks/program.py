"""The program: settings -> plan -> findings -> resources -> outputs."""

import datetime as dt
import os
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from interlock.components._made import planned
from interlock.components.ray_server import RayServer
from interlock.components.vllm_server import VllmServer
from interlock.components.workspace import Workspace
from interlock.infra.errors import InterlockError
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.sets import StackObjects, WorkspaceObjects
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import previewed
from interlock.infra.rules.findings import Severity
from interlock.stacks.keys import deploy_keys
from interlock.stacks.live import check_gpu_layer, report_sharing
from interlock.stacks.outputs import stack_outputs
from interlock.stacks.platform import deploy_platform, deploy_stores
from interlock.stacks.ray import deploy_tokens
from interlock.stacks.settings import Settings, read_settings
from interlock.stacks.target import identify

DEBUG = "INTERLOCK_DEBUG"
"""Environment variable that lets the SDK's own debug texts through to ``pulumi --debug``."""


def run() -> None:
    """One run of the program. What stops it is one message without a traceback."""
    if not os.environ.get(DEBUG):
        pulumi.log.debug = _unsaid
    try:
        settings = read_settings()
        made = previewed(settings.config, settings.stack, settings.source, today=dt.date.today())
        report(made.plan)
        uid = identify(settings)
        check_gpu_layer(settings)
        report_sharing(settings)
    except InterlockError as error:
        raise pulumi.RunError(str(error)) from None
    deploy(settings, made.plan, uid, made.objects)


def _unsaid(*_: Any, **__: Any) -> None:
    """In place of the SDK's debug log: five calls to the engine for each resource, each awaited, for texts that it throws away."""


def report(made: ClusterPlan) -> None:
    """All findings before the first resource; unwaived errors stop the run."""
    if made.refused:
        shown = "\n\n".join(finding.text() for finding in made.refused)
        count = len(made.refused)
        raise pulumi.RunError(f"{count} contradiction{'s' if count > 1 else ''} in stack {made.stack}, nothing was changed:\n\n{shown}\n")
    for finding in made.findings:
        log = pulumi.log.info if finding.severity is Severity.INFO or finding.waiver else pulumi.log.warn
        log(finding.text())


def deploy(settings: Settings, made: ClusterPlan, uid: str, judged: StackObjects | None = None) -> None:
    """The resources of the plan, and the stack's outputs. ``judged``: its objects, where they are built already."""
    config = settings.config
    provider = k8s.Provider(
        "cluster",
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        cluster_identifier=uid,
        enable_server_side_apply=True,
        # What engines read while they run is changed in its place; what is never changed says so itself (immutable).
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
    )
    objects = judged or stack_objects(config, made)
    ready = deploy_platform(objects, provider)
    if objects.workspace:
        serve(settings, objects, objects.workspace, provider, ready)
    pulumi.export("interlock", stack_outputs(config, made, uid).model_dump(mode="json"))


def serve(settings: Settings, objects: StackObjects, space: WorkspaceObjects, provider: k8s.Provider, ready: list[pulumi.Resource]) -> None:
    """The namespaced part: workspace, tenants' keys, stores and servers, the servers after ``ready``."""
    workspace = Workspace("workspace", planned(space), pulumi.ResourceOptions(provider=provider))
    inside = pulumi.ResourceOptions(provider=provider, depends_on=list(workspace.before))
    keys = deploy_keys(settings.config, settings.stack, inside)
    filled = deploy_stores(objects, inside)
    tokens = deploy_tokens(objects, inside)
    for service in objects.rays:
        stores = [filled[name] for name in service.needs]
        RayServer(service.name, planned(service), _after(provider, [workspace, *ready, *tokens, *stores]))
    made: dict[str, pulumi.Resource] = {}
    for server in objects.servers:
        needs: list[pulumi.Resource] = [filled[name] for name in server.needs]
        needs += [made[name] for name in server.after if name in made]
        made[server.name] = VllmServer(server.name, planned(server), _after(provider, [workspace, *ready, *keys, *needs]))


def _after(provider: k8s.Provider, before: list[pulumi.Resource]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=provider, depends_on=before)
