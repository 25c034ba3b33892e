"""LeaderWorkerSet: one replica is a leader pod and its workers."""

from dataclasses import replace

from interlock.infra.facts import Rollout, Workload, known, unknown
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.pods import PodRead, claim_volumes, promoted, read_pod
from interlock.infra.recognise.workloads import Result, engines_in


def read_lws(root: Node, document: Document, context: Context) -> Result:
    """One workload for the group; its engine is the leader's."""
    template = root.at("spec", "leaderWorkerTemplate")
    size = template["size"].integer().default(1)
    # The controller adds these (lws pkg/utils/pod); group sizes are often passed on as parallel sizes.
    set_later = unknown(why="set by the LeaderWorkerSet controller")
    variables = {"LWS_GROUP_SIZE": size.map(str), "LWS_LEADER_ADDRESS": set_later, "LWS_WORKER_INDEX": set_later}
    inside = replace(context, injected=variables)
    leader, worker = template["leaderTemplate"], template["workerTemplate"]
    pods: tuple[PodRead, ...]
    if leader["spec"]:
        rest = size.map(lambda count: max(count - 1, 0))
        pods = (
            read_pod(leader["spec"], leader["metadata"], inside, "leader", known(1)),
            read_pod(worker["spec"], worker["metadata"], inside, "worker", rest),
        )
    else:
        # The controller makes the leader of the same template (LeaderWorkerSet API, leaderTemplate).
        pods = (read_pod(worker["spec"], worker["metadata"], inside, "", size),)
    own = claim_volumes(template["volumeClaimTemplates"])
    pods = tuple(replace(pod, pod=replace(pod.pod, volumes=(*pod.pod.volumes, *own))) for pod in pods)
    pods = (pods[0], *(promoted(pod) for pod in pods[1:]))
    for item in engines_in(root, origin(root, document, "lws"), pods, inside):
        yield replace(item, rollout=_rollout(root["spec"])) if isinstance(item, Workload) else item


def _rollout(spec: Node) -> Rollout:
    rolling = spec.at("rolloutStrategy", "rollingUpdateConfiguration")
    return Rollout(
        strategy=spec.at("rolloutStrategy", "type").text(),
        max_surge=rolling["maxSurge"].text().default("0"),
        max_unavailable=rolling["maxUnavailable"].text().default("1"),
        path=spec["rolloutStrategy"].path,
    )
