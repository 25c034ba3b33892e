"""The published words of the rules about cards and the network between them."""

from interlock.infra.rules import gpu_hardware as hardware
from interlock.infra.rules import gpu_nccl as nccl
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Rule

_PARALLEL = ("https://docs.vllm.ai/en/latest/serving/parallelism_scaling/",)

RULES = (
    Rule(
        code="GPU-013",
        severity=Severity.ERROR,
        demand="The card computes in the engine's dtype.",
        reason="Before compute capability 8.0 there is no bfloat16: vLLM refuses it when asked for.",
        source="vllm/platforms/cuda.py check_if_supports_dtype; vllm-project/vllm#1157, #17265",
        remedy="Set --dtype half.",
        workload=hardware.dtype,
        settings={"fallback_since": "0.9.0"},
    ),
    Rule(
        code="GPU-014",
        severity=Severity.ERROR,
        demand="The card has kernels for the quantization.",
        reason="vLLM compares the compute capability with the method's least and refuses to start.",
        source="infra/catalog/quantization_needs.json (get_min_capability of each method, by version)",
        remedy="Choose another quantization or a newer card.",
        links=("https://docs.vllm.ai/en/latest/features/quantization/",),
        workload=hardware.formats,
    ),
    Rule(
        code="GPU-015",
        severity=Severity.ERROR,
        demand="The engine's release has binaries for the card.",
        reason="No kernel image is available on the device.",
        source="binaries of the vLLM 0.33.0 wheel (no sm_70)",
        remedy="Pin an older version, or use a T4 or newer.",
        workload=hardware.binaries,
        settings={"since": "0.33.0"},
    ),
    Rule(
        code="GPU-016",
        severity=Severity.WARNING,
        demand="Cards that share every layer are linked.",
        reason="Tensor parallel exchanges activations twice per layer; over PCIe that is the limit from about four cards on.",
        source="vLLM documentation, 'Parallelism and scaling'; TrelisResearch/one-click-llms#18",
        remedy="Use pipeline parallel or replicas, or cards with NVLink.",
        links=_PARALLEL,
        workload=hardware.links,
        settings={"wide": 8},
    ),
    Rule(
        code="GPU-017",
        severity=Severity.ERROR,
        demand="Tensor parallel stays inside a node.",
        reason="All-reduces of every layer cross the network; pipeline parallel crosses it once per stage.",
        source="vLLM documentation, 'Parallelism and scaling'",
        remedy="Use TP within the node and PP over the nodes.",
        links=_PARALLEL,
        workload=hardware.one_node,
    ),
    Rule(
        code="GPU-018",
        severity=Severity.ERROR,
        demand="The pod gets the runtime that hands GPUs in.",
        reason="With runc the container has the device but no driver library: vLLM finds no platform.",
        source="NVIDIA container toolkit documentation; llm-d/llm-d-deployer#273, kserve/kserve#4722",
        remedy="Set runtimeClassName: nvidia.",
        workload=hardware.runtime,
    ),
    Rule(
        code="GPU-021",
        severity=Severity.WARNING,
        demand="Ranks on several pods have a way to each other that NCCL finds.",
        reason="NCCL picks the first interface it sees; over plain sockets it is slow, and on the wrong one it hangs without a message.",
        source="NVIDIA NCCL documentation, environment variables; vllm-project/vllm#11139, Project-HAMi/HAMi-core#261",
        remedy="Name the interface, open all ports between the pods, use RDMA.",
        links=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
        workload=nccl.between_pods,
    ),
    Rule(
        code="GPU-022",
        severity=Severity.WARNING,
        demand="Ranks that talk to each other do not sit behind a library that shares cards.",
        reason="Such libraries intercept CUDA calls; ranks were seen to wait for each other for ever.",
        source="Project-HAMi/HAMi-core#261",
        remedy="Give engines with TP > 1 whole cards.",
        workload=nccl.behind_sharing,
    ),
)
