"""Advice of widely read articles that does harm in a pod: what is run at start and as a probe."""

import re
from collections.abc import Iterable, Iterator

from interlock.infra.facts import Bundle, Container, Role, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Hit, Settings, rule

_START = (
    (
        re.compile(r"nvidia-smi\s+(?:-r\b|--gpu-reset)"),
        "a reset needs root and every client of the card stopped, takes its NVLink peers along, and fails in a pod",
        "leave the health of cards to the node (device plugin, DCGM)",
    ),
    (
        re.compile(r"empty_cache\s*\("),
        "empty_cache frees blocks of the process that calls it, nothing of another process or of the engine",
        "remove it, and find what holds the card's memory",
    ),
    (
        re.compile(r"\bnvcc\b"),
        "the stock images bring their kernels compiled; nvcc is not needed, and not in them",
        "remove it, or build an image of your own",
    ),
)
_PROBE = (
    (
        re.compile(r"\bnvidia-smi\b"),
        "the card answers while the engine hangs, and a slow driver kills a healthy engine in the middle of answers",
        "ask /health of the engine's port",
    ),
    (
        re.compile(r"memory\.used"),
        "the engine takes its memory at start and keeps it, so that unchanged memory is a healthy engine",
        "ask /health of the engine's port",
    ),
)


@rule(
    "ROLL-022",
    Severity.WARNING,
    demand="What a pod runs at start, and as a probe, does what it is meant for.",
    reason="It stands in widely read articles, and fails, does nothing, or ends a healthy engine.",
    source="NVIDIA documentation, nvidia-smi (GPU reset); PyTorch documentation, torch.cuda.empty_cache; vllm/config/cache.py",
    remedy="Remove it.",
    fault="wrong-advice",
)
def advice(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods:
        for container in pod.containers:
            yield from _at_start(container)
            for probe in container.probes.values() if container.role is Role.ENGINE else ():
                said = " ".join(probe.command.get()) if probe.command.known else ""
                for pattern, why, remedy in _PROBE:
                    if pattern.search(said):
                        yield Hit(probe.path, f"the {probe.kind} probe runs {said[:60]!r}: {why}", remedy, said[:60])
                        break


def _at_start(container: Container) -> Iterator[Hit]:
    for fact in (container.command, container.args):
        for index, word in enumerate(fact.get() if fact.known else ()):
            for pattern, why, remedy in _START:
                found = pattern.search(word)
                if found:
                    yield Hit(f"{fact.path}[{index}]", f"{found[0]!r} at start: {why}", remedy, found[0])
