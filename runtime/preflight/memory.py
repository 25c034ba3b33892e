"""/dev/shm and the container's memory."""

import os

from interlock.runtime.preflight.look import Result, World, fine, problem, unseen

LIMITS = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The container's own control group, version 2 and 1."""


def shm(planned_mib: int, world: World) -> Result:
    """The size of /dev/shm: worker processes exchange tensors there."""
    try:
        found = os.statvfs(world.at("/dev/shm"))
    except OSError as error:
        return unseen("shm", f"/dev/shm: {error.strerror}")
    there = found.f_blocks * found.f_frsize >> 20
    if there < planned_mib:
        return problem("shm", f"/dev/shm has {there} MiB and the plan needs {planned_mib} MiB: mount an emptyDir of medium Memory there")
    return fine("shm", f"/dev/shm has {there} MiB")


def host(planned_mib: int, world: World) -> Result:
    """What the container may use: the smaller of its control group's limit and the machine's memory."""
    known = [mib for mib in (_limit(world), _machine(world)) if mib is not None]
    if not known:
        return unseen("host-memory", "neither a control group nor /proc/meminfo tells the memory")
    if min(known) < planned_mib:
        return problem(
            "host-memory", f"{min(known)} MiB of memory are there and the plan needs {planned_mib} MiB: raise the container's limit"
        )
    return fine("host-memory", f"{min(known)} MiB of memory")


def _limit(world: World) -> int | None:
    for name in LIMITS:
        try:
            text = (world.root / name).read_text().strip()
        except OSError:
            continue
        return int(text) >> 20 if text.isdigit() else None
    return None


def _machine(world: World) -> int | None:
    try:
        for line in world.at("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) >> 10
    except OSError:
        pass
    return None
