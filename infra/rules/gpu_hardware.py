"""What a card can do: number formats by compute capability, slices, links between cards."""

from collections.abc import Iterable
from dataclasses import replace

from interlock.infra.catalog.gpus import OLDEST_CAPABILITY
from interlock.infra.catalog.tables import table
from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.planner import capability, card, facts_of, request_of
from interlock.infra.rules.reading.quantization import method_of
from interlock.infra.rules.reading.units import counted, engine_containers, older, pod_count, pod_units, where
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.sizing import Verdict
from interlock.infra.sizing.ask import answer
from interlock.infra.sizing.refusals.parallel import heads_problem
from interlock.infra.values import Version

_PARALLEL = ("https://docs.vllm.ai/en/latest/serving/parallelism_scaling/",)


def least_capability(method: str, version: Version | None) -> tuple[float | None, float | None, float | None]:
    """(least, strictest, native) compute capability of a method: in this version (the newest when None), in any version, in hardware."""
    rows = [row for row in table("quantization_needs.json")["rows"] if method in row["methods"]]
    if not rows:
        return None, None, None
    spans = [row for row in rows if version is not None and "before" in row and version < (Version.released(row["before"]) or version)]
    row = spans[0] if spans else rows[-1]
    return float(row["least"]), max(float(each["least"]) for each in rows), row.get("native")


@rule(
    "GPU-014",
    Severity.ERROR,
    demand="The card has kernels for the quantization.",
    reason="vLLM compares the compute capability with the method's least and refuses to start.",
    source="infra/catalog/quantization_needs.json (get_min_capability of each method, by version)",
    remedy="Choose another quantization or a newer card.",
    links=("https://docs.vllm.ai/en/latest/features/quantization/",),
)
def formats(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    method, have = method_of(workload), capability(workload, bundle)
    if method is None or have is None or workload.vendor.value not in (None, "nvidia"):
        return
    version = workload.engine.release
    least, strictest, native = least_capability(method, version)
    path = where(workload, Place.ARGS, workload.engine.flag("quantization"))
    if least is not None and have < least:
        text = f"{method} needs compute capability {least:g}, the card has {have:g}"
        yield Hit(path, text, "use another quantization (or none), or a newer card", method)
    elif strictest is not None and version is None and have < strictest:
        text = f"{method} needs compute capability {strictest:g} in older vLLM versions, the card has {have:g}; the version is not stated"
        yield Hit(path, text, "pin a version that supports it, or use another card", method, severity=Severity.WARNING)
    elif native is not None and have < native:
        text = f"{method} is computed in hardware from {native:g}; on {have:g} only the weights are small (dequantized for each product)"
        yield Hit(path, text, "expect no faster compute, or use a newer card", method, severity=Severity.INFO)


@rule(
    "GPU-013",
    Severity.ERROR,
    demand="The card computes in the engine's dtype.",
    reason="GPUs below compute capability 8.0 have no bfloat16, and vLLM refuses to start with it.",
    source="vllm/platforms/cuda.py check_if_supports_dtype; vllm-project/vllm#1157, #17265",
    remedy="Set --dtype half.",
    settings={"fallback_since": "0.9.0"},
)
def dtype(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    have, flag = capability(workload, bundle), workload.engine.flag("dtype")
    if have is None or have >= 8.0 or flag.unknown or workload.vendor.value not in (None, "nvidia"):
        return
    path, asked = where(workload, Place.ARGS, flag), str(flag.value or "auto")
    if asked in ("bfloat16", "bf16"):
        text = f"bfloat16 needs compute capability 8.0, the card has {have:g}"
        yield Hit(path, text, "set --dtype to half", asked, fixes=put(path, "half", flag="dtype"))
    elif asked == "auto" and _checkpoint_dtype(workload) == "bfloat16":
        version, since = workload.engine.release, Version.released(str(settings["fallback_since"]))
        before = older(workload, str(settings["fallback_since"]))
        level = Severity.ERROR if before else Severity.WARNING if version is None or since is None else Severity.INFO
        text = f"the checkpoint is bfloat16, which needs compute capability 8.0; the card has {have:g}"
        text += "" if before else f" (vLLM falls back to float16 by itself from {settings['fallback_since']})"
        yield Hit(path, text, "set --dtype to half", asked, severity=level, fixes=put(path, "half", flag="dtype"))


def _checkpoint_dtype(workload: Workload) -> str | None:
    if workload.engine.dtype.known:
        return str(workload.engine.dtype.value)
    found = facts_of(workload)
    return found.dtype if found and found.quantization is None else None


@rule(
    "GPU-015",
    Severity.ERROR,
    demand="The engine's release has binaries for the card.",
    reason="No kernel image is available on the device.",
    source="vLLM documentation, 'Installation' (compute capability 7.0 or higher); binaries of the vLLM 0.33.0 wheel (no sm_70)",
    remedy="Pin an older version, or use a T4 or newer.",
    fault="compute-capability",
    settings={"since": "0.33.0"},
)
def binaries(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    have, version, since = capability(workload, bundle), workload.engine.release, Version.released(str(settings["since"]))
    if have is not None and have < OLDEST_CAPABILITY and workload.vendor.value in (None, "nvidia"):
        text = f"the card has compute capability {have:g}, and no release of vLLM has kernels below {OLDEST_CAPABILITY:g}"
        yield Hit(where(workload, Place.GPUS, workload.gpu), text, "use a T4 or newer card", f"{have:g}")
    elif have is not None and have < 7.5 and version and since and version >= since and workload.vendor.value in (None, "nvidia"):
        text = f"vLLM {workload.engine.version.value} has no kernels for compute capability {have:g} (they begin at 7.5)"
        yield Hit(where(workload, Place.IMAGE), text, "pin an older version, or use a T4 or newer", f"{have:g}")


@rule(
    "GPU-016",
    Severity.WARNING,
    demand="Cards that share every layer are linked.",
    reason="Tensor parallel exchanges activations twice per layer; over PCIe that is the limit from about four cards on.",
    source="vLLM documentation, 'Parallelism and scaling'; TrelisResearch/one-click-llms#18",
    remedy="Use pipeline parallel or replicas, or cards with NVLink.",
    links=_PARALLEL,
    settings={"wide": 8},
)
def links(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    tp, pool, found = workload.engine.tensor_parallel, bundle.pool(workload), card(workload, bundle)
    if not tp.known or tp.get() < 2:
        return
    stated = pool is not None and pool.nvlink.known and not pool.nvlink.get()
    by_name = found is not None and not found.nvlink
    if stated or by_name:
        wide = tp.get() >= int(settings["wide"])
        told = stated and found is None
        text = f"TP {tp.get()} over PCIe: every layer waits for two all-reduces without NVLink, and some hosts hang with peer access"
        remedy = "use pipeline parallel or replicas, or cards with NVLink (fallback for hangs: NCCL_P2P_DISABLE=1)"
        avoidable = (wide or told) and not _needed(workload, bundle, tp.get())
        level = Severity.WARNING if avoidable else Severity.INFO
        off = switched(workload, "NCCL_P2P_DISABLE")
        if not (told and off):
            yield Hit(where(workload, Place.TENSOR_PARALLEL, tp), text, remedy, str(tp.get()), severity=level)


def _needed(workload: Workload, bundle: Bundle, tp: int) -> bool:
    """Whether half the ranks surely do not hold the model: then the links are a price and not an oversight."""
    request = request_of(workload, bundle)
    return request is not None and answer(replace(request, tp=max(tp // 2, 1))).verdict is Verdict.DOES_NOT_FIT


def switched(workload: Workload, name: str) -> bool:
    """Whether an environment variable of the engine is 1."""
    return any(container.env.get(name, Fact()).value == "1" for _, container in engine_containers(workload)) or (
        workload.engine.env.get(name, Fact()).value == "1"
    )


@rule(
    "GPU-017",
    Severity.INFO,
    demand="Tensor parallel stays inside a node.",
    reason="All-reduces of every layer cross the network; pipeline parallel crosses it once per stage.",
    source="vLLM documentation, 'Parallelism and scaling'",
    remedy="Use TP within the node and PP over the nodes.",
    links=_PARALLEL,
    ours=Severity.ERROR,
)
def one_node(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    tp, pool = workload.engine.tensor_parallel, bundle.pool(workload)
    if not tp.known or len(workload.pods) == 0:
        return
    each = max((pod_units(workload, pod).value or 0 for pod in workload.pods), default=0)
    per_node = pool.gpus_per_node.get() if pool and pool.gpus_per_node.known else 0
    several = len(workload.pods) > 1 or (pod_count(workload.pods[0]).value or 1) > 1
    inside = max(each, per_node)
    if several and inside and tp.get() > inside:
        text = f"TP {tp.get()} is larger than the {inside} GPUs of a node: every layer's all-reduce crosses the network"
        yield Hit(
            where(workload, Place.TENSOR_PARALLEL, tp),
            text,
            f"set --tensor-parallel-size to {_inside(workload, inside)} and use pipeline parallel over the nodes",
            str(tp.get()),
        )


def _inside(workload: Workload, most: int) -> int:
    """The largest size within a node that divides the model's heads."""
    heads = facts_of(workload)
    whole = (size for size in range(most, 1, -1) if heads is None or heads_problem(heads.attention_heads, heads.kv_heads, size) is None)
    return next(whole, 1)


@rule(
    "GPU-018",
    Severity.ERROR,
    demand="The pod gets the runtime that hands GPUs in.",
    reason="With runc the container has the device but no driver library: vLLM finds no platform.",
    source="NVIDIA container toolkit documentation; llm-d/llm-d-deployer#273, kserve/kserve#4722",
    remedy="Set runtimeClassName: nvidia.",
)
def runtime(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = bundle.pool(workload)
    default = pool.default_runtime if pool else Fact()
    for pod, container in engine_containers(workload):
        if default.known and default.get() != "nvidia" and not pod.runtime_class.known and counted(container) and not container.devices:
            text = (
                f"no runtimeClassName, and the nodes' default runtime is {default.get()}, which does not inject the NVIDIA driver libraries"
            )
            yield Hit(
                where(workload, Place.RUNTIME_CLASS),
                text,
                "set runtimeClassName: nvidia",
                default.get(),
                fixes=put(where(workload, Place.RUNTIME_CLASS), "nvidia"),
            )
