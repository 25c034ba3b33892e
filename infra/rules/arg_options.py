"""How the engine is started: a model, a way that stays, and options that agree with each other."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.planner import OTHERS, facts_of, refused
from interlock.infra.rules.reading.units import engine_containers, older, size_of, switched_on, where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule

_SERVE = ("https://docs.vllm.ai/en/latest/cli/serve/",)
_LORA = ("https://docs.vllm.ai/en/latest/features/lora/",)

_PLAIN = ("serve", "module", "image")


@rule(
    "ARG-008",
    Severity.ERROR,
    demand="The engine is told which model to serve.",
    reason="It serves a small built-in example model, or stops.",
    source="vllm/config/model.py (default model); vllm/entrypoints/cli/serve.py",
    remedy="Name the model.",
    fault="no-model-arg",
    links=_SERVE,
)
def a_model(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    engine = workload.engine
    lines = [word for _, each in engine_containers(workload) for fact in (each.command, each.args) if fact.known for word in fact.get()]
    expanded = any(re.search(rf"\$[({{]?{re.escape(name)}\b", line) for name in engine.env if "MODEL" in name for line in lines)
    elsewhere = not engine.flag("config").absent or expanded
    # KubeRay starts Ray in a container without a command, whatever its image's own entrypoint is.
    if engine.model.absent and engine.complete and engine.entrypoint in _PLAIN and not elsewhere and workload.pods and not workload.ray:
        text = "no model is named, so the engine serves its built-in example model (or stops)"
        yield Hit(where(workload, Place.ARGS), text, 'name it: ["vllm", "serve", "<model>"] or --model <model>')


@rule(
    "ARG-009",
    Severity.WARNING,
    demand="The engine is started by vllm serve.",
    reason="The module is deprecated and will go.",
    source="vllm/entrypoints/openai/api_server.py",
    remedy="Start vllm serve.",
    fault="deprecated-entrypoint",
    links=_SERVE,
    settings={"serve_since": "0.5.2"},
)
def entrypoint(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if workload.engine.entrypoint != "module" or older(workload, str(settings["serve_since"])):
        return
    level = None if official(workload) else Severity.INFO  # Runtimes of other vendors are started so.
    lines = (fact for _, container in engine_containers(workload) for fact in (container.command, container.args))
    named = next((fact.path for fact in lines if fact.known and any("vllm.entrypoints" in word for word in fact.get())), "")
    text = "python -m vllm.entrypoints... is deprecated"
    path = named or where(workload, Place.ARGS)
    yield Hit(path, text, "start vllm serve <model>", "python -m vllm.entrypoints", severity=level)


@rule(
    "ARG-010",
    Severity.ERROR,
    demand="Automatic tool choice has its parser.",
    reason="vLLM checks it before anything is loaded and raises.",
    source="vllm/entrypoints/openai/cli_args.py validate_parsed_serve_args",
    remedy="Name the parser of the model's family.",
    links=("https://docs.vllm.ai/en/latest/features/tool_calling/",),
)
def tool_parser(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag = workload.engine.flag("enable-auto-tool-choice")
    if switched_on(flag) and workload.engine.flag("tool-call-parser").absent:
        text = "--enable-auto-tool-choice without --tool-call-parser: vLLM refuses to start"
        yield Hit(where(workload, Place.ARGS, flag), text, "add --tool-call-parser (hermes for Qwen, llama3_json for Llama 3)")


@rule(
    "ARG-011",
    Severity.ERROR,
    demand="Adapters fit the rank that the engine keeps room for.",
    reason="The adapter is refused when it is loaded.",
    source="vllm/lora/worker_manager.py; vllm-project/vllm#2847",
    remedy="Raise --max-lora-rank.",
    links=_LORA,
    settings={"allowed": "1 8 16 32 64 128 256 320 512"},
)
def lora_rank(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag = workload.engine.flag("max-lora-rank")
    most = flag.map(int).default(16)
    rank = workload.engine.lora_rank
    if rank.known and most.known and rank.get() > most.get():
        text = f"an adapter has rank {rank.get()}, but max-lora-rank is {most.get()}"
        path = where(workload, Place.ARGS, flag)
        yield Hit(path, text, f"set --max-lora-rank to {rank.get()}", str(most.get()), fixes=put(path, rank.get(), flag="max-lora-rank"))
    allowed = [int(text) for text in str(settings["allowed"]).split()]
    if flag.known and most.known and most.get() not in allowed:
        higher = [size for size in allowed if size > most.get()]
        text = f"--max-lora-rank {most.get()} is not one of the sizes that vLLM takes ({', '.join(map(str, allowed))})"
        path, size = where(workload, Place.ARGS, flag), higher[0] if higher else allowed[-1]
        yield Hit(path, text, f"set --max-lora-rank to {size}", str(most.get()), fixes=put(path, size, flag="max-lora-rank"))


@rule(
    "ARG-013",
    Severity.ERROR,
    demand="Adapters can be loaded at run time where that is switched on.",
    reason="The call reaches one API server process; vLLM refuses it with several (the default with data parallel).",
    source="vllm/entrypoints/serve/lora/api_router.py; vllm/envs.py VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    remedy="Use one API server process.",
    links=_LORA,
)
def hot_loading(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    wanted = workload.engine.env.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING", Fact())
    if not switched_on(wanted):
        return
    lora = workload.engine.flag("enable-lora")
    if lora.absent:
        text = "VLLM_ALLOW_RUNTIME_LORA_UPDATING without --enable-lora: the load call is refused"
        yield Hit(wanted.path, text, "add --enable-lora", severity=Severity.WARNING)
    count = workload.engine.flag("api-server-count").map(int)
    ranks = size_of(workload, workload.engine.data_parallel)
    servers = count.get() if count.known else ranks.value if count.absent and ranks.known else 1
    if servers and servers > 1 and not older(workload, "0.10.0"):
        text = f"{servers} API server processes: an adapter is loaded into one of them only, and vLLM refuses it"
        path, remedy = where(workload, Place.ARGS, count), "set --api-server-count 1, or load adapters with --lora-modules"
        yield Hit(path, text, remedy, str(servers), fixes=put(path, 1, flag="api-server-count"))


@rule(
    "ARG-014",
    Severity.ERROR,
    demand="Speculative decoding has a draft that speaks the target's vocabulary.",
    reason="Tokens are compared by number; vLLM asserts equal vocabulary sizes.",
    source="vllm/config/speculative.py; vllm-project/vllm#5203",
    remedy="Choose a draft of the same family.",
    links=("https://docs.vllm.ai/en/latest/features/spec_decode/",),
)
def draft(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    found, own = facts_of(workload), workload.engine.draft_vocabulary
    flag = workload.engine.flag("speculative-config")
    target = workload.engine.vocabulary.value or (found.vocab_size if found else 0)
    if target and own.known and own.get() != target:
        text = f"the draft model's vocabulary has {own.get()} tokens, the target's {target}"
        yield Hit(
            own.path or where(workload, Place.ARGS, flag), text, "choose a draft of the same family and vocabulary size", str(own.get())
        )
    elif own.absent:
        yield from refused(workload, bundle, "ARG-014")


@rule(
    "ARG-015",
    Severity.ERROR,
    demand="A step has room for the sequences that may run in it.",
    reason="vLLM checks it at start and raises.",
    source="vllm/config/scheduler.py",
    remedy="Raise --max-num-batched-tokens.",
    links=_SERVE,
)
def batch(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return refused(workload, bundle, "ARG-015")


@rule(
    "ARG-016",
    Severity.ERROR,
    demand="Expert parallel is used for models with experts.",
    reason="vLLM checks the number of experts at start and raises.",
    source="vllm/config/model.py _verify_with_expert_parallelism",
    remedy="Remove the flag.",
)
def experts(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return refused(workload, bundle, "ARG-016")


_ADVICE = (
    ("enforce-eager", "true", "runs without CUDA graphs: decoding is slower; worth it only where memory is short", "remove it"),
    ("block-size", None, "bigger blocks add no KV memory; the attention backend chooses a size that its kernels take", "remove it"),
    (
        "cpu-offload-gb",
        None,
        "moves weights to host memory and reads them in every step; it makes no room for prompts",
        "use more GPUs",
    ),
    (
        "quantization",
        "bitsandbytes",
        "is none of the optimized methods, as the engine says at its start: slower than 16-bit weights; from 0.28 it is not loaded",
        "use a checkpoint in FP8, AWQ or GPTQ form",
    ),
    ("preemption-mode", None, "does nothing in today's engine, which recomputes", "remove it"),
)


@rule(
    "ARG-017",
    Severity.INFO,
    demand="Options are set for what they really do.",
    reason="Widely read advice about them is out of date or was never right.",
    source="vllm/config/cache.py, scheduler.py and compilation.py of 0.33; _verify_quantization of 0.10.2 (bitsandbytes)",
    remedy="Leave them to the engine.",
    links=("https://docs.vllm.ai/en/latest/configuration/optimization/",),
)
def advice(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for name, value, text, remedy in _ADVICE:
        flag = workload.engine.flag(name)
        if name == "enforce-eager" and workload.vendor.value == "cpu":
            continue  # a processor has no CUDA graphs to lose
        if flag.known and (value is None or flag.value == value) and flag.value not in ("0", "false"):
            path = where(workload, Place.ARGS, flag)
            fixes = drop(path, flag=name) if remedy == "remove it" else ()
            yield Hit(path, f"--{name} {text}", remedy, str(flag.value), fixes=fixes)


_DEBUG = (
    ("VLLM_TRACE_FUNCTION", ("1",), "writes a line for every function call"),
    ("CUDA_LAUNCH_BLOCKING", ("1",), "waits for every kernel"),
    ("NCCL_DEBUG", ("TRACE",), "writes a line for every call of every rank"),
    ("TORCH_DISTRIBUTED_DEBUG", ("DETAIL",), "compares every collective between the ranks"),
)
"""Variables for a debugging session: name, values, what they do to every step."""


@rule(
    "ARG-021",
    Severity.WARNING,
    demand="No variable of a debugging session is left on.",
    reason="Each slows every step; with function traces a model of 1B parameters did not start within 40 minutes.",
    source="vLLM documentation, 'Troubleshooting'; vllm-project/vllm#17386; NCCL documentation, NCCL_DEBUG; PyTorch documentation",
    remedy="Remove it once the cause is found.",
    fault="debug-variable",
    links=("https://docs.vllm.ai/en/latest/usage/troubleshooting/",),
)
def debug_variables(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        for name, values, what in _DEBUG:
            fact = container.env.get(name, Fact())
            if fact.known and fact.get().strip().upper() in values:
                yield Hit(fact.path, f"{name}={fact.get()} {what}", "remove it", fact.get(), fixes=drop(fact.path.removesuffix(".value")))


_NEEDS = (
    ("max-lora-rank", "enable-lora"),
    ("max-loras", "enable-lora"),
    ("max-cpu-loras", "enable-lora"),
    ("lora-modules", "enable-lora"),
    ("tool-call-parser", "enable-auto-tool-choice"),
    ("num-speculative-tokens", "speculative-model"),
)


@rule(
    "ARG-018",
    Severity.WARNING,
    demand="An option has the switch that makes it count.",
    reason="Somebody relies on something that is not on.",
    source="vllm/engine/arg_utils.py create_engine_config; vllm/entrypoints/openai/cli_args.py",
    remedy="Add the switch, or remove the option.",
    fault="dead-value",
    links=_SERVE,
)
def dead(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for name, needed in _NEEDS:
        flag = workload.engine.flag(name)
        if flag.known and workload.engine.flag(needed).absent:
            text = f"--{name} has no effect without --{needed}"
            path = where(workload, Place.ARGS, flag)
            yield Hit(path, text, f"remove --{name}, or add --{needed}", str(flag.value)[:80], fixes=drop(path, flag=name))


@rule(
    OTHERS,
    Severity.ERROR,
    demand="vLLM accepts these arguments for this model.",
    reason="The engine checks them against the model before or while it loads, and stops.",
    source="vllm/config/vllm.py, vllm/platforms/cuda.py, vllm/v1/core/kv_cache_utils.py (infra/sizing/refusals names the check)",
    remedy="Change or remove the argument.",
    links=_SERVE,
)
def accepted(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return refused(workload, bundle, OTHERS)
