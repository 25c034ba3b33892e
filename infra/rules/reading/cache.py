"""Where the hub's client keeps the files of a model, and whether they outlive the container."""

from interlock.infra.facts import Container, Fact, Mount, Workload, known

_HUB = (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "/hub"))


def cache_folder(container: Container) -> Fact[str]:
    """Where the hub's client keeps its files."""
    for name, below in _HUB:
        if name in container.env:
            return container.env[name].map(lambda text, below=below: text.rstrip("/") + below)  # type: ignore[misc]
    base = container.env.get("HOME", known("/root"))
    return base.map(lambda text: f"{text.rstrip('/')}/.cache/huggingface/hub")


def mount_of(container: Container, place: str) -> Mount | None:
    """The volume mount in which a path lies: the longest that holds it."""
    holding = [mount for mount in container.mounts if f"{place.rstrip('/')}/".startswith(f"{mount.mount_path.rstrip('/')}/")]
    return max(holding, key=lambda mount: len(mount.mount_path), default=None)


def outlives(workload: Workload, container: Container) -> bool:
    """Whether files that were downloaded are still there when the container is started again: they lie on any volume of the pod."""
    stated = workload.engine.flag("download-dir")
    folder = cache_folder(container) if stated.absent else stated
    return not folder.known or mount_of(container, str(folder.value)) is not None
