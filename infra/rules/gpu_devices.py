"""Devices: that the container gets an accelerator at all, the right one, and that nothing overrides what the plugin chose."""

import re
from collections.abc import Iterable

from interlock.infra.catalog.images import image_reference
from interlock.infra.facts import Bundle, Container, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import accelerators, counted, engine_containers, number, older, where
from interlock.infra.rules.rule import Hit, Settings, drop, rule

_CUDA_IMAGES = (
    "vllm/vllm-openai",
    "vllm/vllm-openai-cu",
    "lmcache/vllm-openai",
    "nvcr.io/nvidia/vllm",
    "rayproject/ray-llm",
    "ghcr.io/llm-d/llm-d",
)
_IMAGE_VENDORS = (
    (re.compile(r"(^|[/_.-])(rocm|amd)([/_.-]|$)|rocm\d"), "amd"),
    (re.compile(r"(^|[/_.:-])cpu([/_.-]|$)"), "cpu"),
    (re.compile(r"(^|[/_.-])(tpu)([/_.-]|$)"), "tpu"),
    (re.compile(r"(^|[/_.-])(gaudi|hpu|habana\w*)([/_.-]|$)"), "gaudi"),
    (re.compile(r"(^|[/_.-])(neuron\w*)([/_.-]|$)"), "neuron"),
    (re.compile(r"(^|[/_.-])(ascend|npu)([/_.-]|$)"), "ascend"),
    (re.compile(r"(^|[/_.-])(xpu)([/_.-]|$)"), "xpu"),
    (re.compile(r"(^|[/_.:-])(cuda|cu1[1-4]\d)([/_.-]|$)|nvcr\.io/"), "nvidia"),
)
_UUID = re.compile(r"^(GPU|MIG)-", re.IGNORECASE)


def image_vendor(image: str) -> str:
    """The vendor an image is built for as its name says it; the official openai image is CUDA; empty when the name does not say."""
    ref = image_reference(image.lower())
    name = f"{ref.name}:{ref.tag}"
    for pattern, vendor in _IMAGE_VENDORS:
        if pattern.search(name):
            return vendor
    return "nvidia" if any(map(ref.is_on_hub, _CUDA_IMAGES)) else ""


_OFFICIAL = re.compile(
    r"^(docker\.io/|index\.docker\.io/)?(vllm/vllm-\w+(-\w+)*|rayproject/ray-llm|rocm/vllm(-dev)?|lmcache/vllm-openai)$"
    r"|^public\.ecr\.aws/q9t5s3a7/vllm-[\w-]+$|^(ghcr\.io/llm-d/llm-d[\w-]*)$|^nvcr\.io/nvidia/vllm$"
)


def official(workload: Workload) -> bool:
    """Whether the engine runs from an image of a known publisher, so that its version's flags are known."""
    images = [container.image for _, container in engine_containers(workload)]
    known = [image_reference(image.get()).name for image in images if image.known]
    return bool(known) and all(_OFFICIAL.match(name) for name in known)


def asked_vendors(container: Container) -> set[str]:
    """Vendors of the accelerators a container asks for (not those of 0 units)."""
    return {units.vendor for units in accelerators(container) if not (units.count.known and units.count.get() == 0)}


@rule(
    "GPU-007",
    Severity.ERROR,
    demand="A CUDA engine's container asks for an accelerator.",
    reason="Without it the pod lands on a node without GPUs, or shares cards that the scheduler counts as free.",
    source="Kubernetes documentation, 'Schedule GPUs'",
    remedy="Add limits with nvidia.com/gpu, or a DRA claim.",
    fault="no-gpu-resource",
    links=("https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",),
)
def an_accelerator(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if "gpus" in workload.operator_adds or workload.ray is not None or workload.engine.data_parallel_local.value == 0:
        return  # An API server without ranks of its own needs none.
    for pod, container in engine_containers(workload):
        image = str(container.image.value) if container.image.known else ""
        if image_vendor(image) != "nvidia" or asked_vendors(container) or container.claims or _on_cpu(workload):
            continue
        amounts = (*container.limits.items(), *container.requests.items())
        if any(fact.unknown for name, fact in amounts if not name or fact.why.startswith("templated")):
            continue
        if any("gpu" in name.lower() and fact.map(number).value != 0 for name, fact in amounts):
            continue  # Asked for under a name that the API server refuses, or one that is not known here.
        level = None
        if pod.runtime_class.known or text_all(container, "NVIDIA_VISIBLE_DEVICES"):
            level = Severity.WARNING  # It runs; the scheduler does not know of it.
            text = "a CUDA engine asks for no GPU; it sees the node's cards through its runtime, unknown to the scheduler"
        else:
            text = "a CUDA engine asks for no GPU (no accelerator in its limits), so it starts on any node and finds none"
        remedy = "add resources.limits nvidia.com/gpu (a LimitRange that adds it cannot be seen here)"
        place = f"{container.path}.resources" if container.path else where(workload, Place.GPUS)
        asked = pool.resource if (pool := bundle.pool(workload)) else "nvidia.com/gpu"
        also = ((None, f'{place}.limits["{asked}"]'), (None, f"{place}.claims"))
        yield Hit(place, text, remedy, severity=level, also=also)


def text_all(container: Container, name: str) -> bool:
    """Whether an environment variable is stated as something that shows devices."""
    fact = container.env.get(name, Fact())
    return fact.known and fact.get().strip().lower() not in ("", "none", "void")


def _on_cpu(workload: Workload) -> bool:
    device = workload.engine.flag("device")
    target = workload.engine.env.get("VLLM_TARGET_DEVICE", Fact())
    return workload.vendor.value == "cpu" or device.value == "cpu" or target.value == "cpu"


@rule(
    "GPU-008",
    Severity.ERROR,
    demand="No CPU setting on the CUDA image.",
    reason="The CUDA build has no CPU worker: it stops at start-up, or the setting does nothing.",
    source="vLLM documentation, 'CPU installation': the CPU back end is a build of its own",
    remedy="Use the CPU image, or remove the setting.",
    fault="cpu-flag-on-cuda-image",
    links=("https://docs.vllm.ai/en/latest/getting_started/installation/cpu/",),
)
def cpu_flag(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        image = str(container.image.value) if container.image.known else ""
        if image_vendor(image) != "nvidia":
            continue
        for flag in workload.engine.flags:
            if flag.name == "device" and flag.value.value == "cpu":
                yield _cpu_hit(flag.path, flag.raw or "--device cpu", image)
        for name in ("VLLM_TARGET_DEVICE", "VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND"):
            fact = container.env.get(name, Fact())
            if fact.known and (name != "VLLM_TARGET_DEVICE" or fact.get() == "cpu"):
                yield _cpu_hit(fact.path, f"{name}={fact.get()}", image)


def _cpu_hit(path: str, what: str, image: str) -> Hit:
    text = f"{what} on the CUDA image {image}: that build has no CPU back end"
    return Hit(path, text, "use a CPU build of vLLM (for example the vllm-cpu release image), or remove the setting", what)


@rule(
    "GPU-009",
    Severity.ERROR,
    demand="Image and accelerator are of the same vendor.",
    reason="Kernels are compiled for one vendor; the engine finds no device and exits.",
    source="vLLM documentation, 'Installation': one image per platform",
    remedy="Use the image that the accelerator's vendor needs.",
    fault="wrong-accelerator-image",
    links=("https://docs.vllm.ai/en/latest/getting_started/installation/",),
)
def vendor_match(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        image = str(container.image.value) if container.image.known else ""
        built, asked = image_vendor(image), asked_vendors(container) - {"other"}
        if built in ("", "cpu") and not (built == "cpu" and asked):
            continue
        if asked and built not in asked:
            units = next(units for units in accelerators(container) if units.vendor in asked)
            text = f"the image is built for {built}, but the container asks for {units.resource}"
            level = Severity.WARNING if built == "cpu" else Severity.ERROR
            yield Hit(units.count.path or container.path, text, "use that vendor's image, or the other accelerator", image, severity=level)


@rule(
    "GPU-010",
    Severity.WARNING,
    demand="Visible devices are set by the device plugin only.",
    reason="The plugin gives any card of the node and numbers it 0 in the pod; an index or UUID by hand hides it or takes another's.",
    source="NVIDIA/k8s-device-plugin README; vllm-project/vllm#41848, #20939, #45026",
    remedy="Remove the variable.",
    fault="gpu-visible-override",
    settings={"uuid_since": "0.24.0"},
)
def visible_devices(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        units = counted(container)
        for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            fact = container.env.get(name, Fact())
            if not fact.known:
                continue
            value, entry = fact.get().strip(), drop(fact.path.removesuffix(".value"))
            if not value:
                if units is not None and name != "NVIDIA_VISIBLE_DEVICES":
                    text = f"{name} is empty beside {units.resource}: the engine sees none of the cards that the plugin gave"
                    yield Hit(fact.path, text, "remove the variable: the device plugin sets it", severity=Severity.ERROR, fixes=entry)
                continue
            if name.startswith(("HIP", "ROCR")) and value == "0" and units is not None and units.count.value == 1:
                continue  # The only card is number 0, and AMD's plugin sets no such variable.
            if name == "CUDA_VISIBLE_DEVICES" and _UUID.match(value):
                breaks = older(workload, str(settings["uuid_since"]))
                level = Severity.ERROR if breaks else Severity.WARNING
                state = f"vLLM before {settings['uuid_since']} reads the variable as integers and crashes on a UUID"
                text = state if breaks else f"{state}; inside the pod the plugin's card is index 0"
                yield Hit(
                    fact.path, text, "remove the variable: the device plugin injects the card or slice", value, severity=level, fixes=entry
                )
            elif units is not None and (name != "NVIDIA_VISIBLE_DEVICES" or value not in ("all", "void", "none")):
                text = f"{name}={value} beside {units.resource}: inside the pod cards are numbered from 0, whatever the plugin gave"
                yield Hit(fact.path, text, "remove the variable: the device plugin sets it", value, fixes=entry)
            elif units is not None and value == "all":
                text = "NVIDIA_VISIBLE_DEVICES=all beside a GPU request: the container may see cards that the scheduler gave to others"
                yield Hit(fact.path, text, "remove the variable: the device plugin sets it", value, fixes=entry)
