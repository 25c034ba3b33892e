"""Prefill and decode engines: what their hand-over refuses is told where the pair is visible, and nowhere else."""

import json
from typing import Any

import pytest

from tests.unit.test_rules_traps import Manifest, args, found, pod, put, server

MODEL = "Qwen/Qwen3-8B"


def side(role: str, *more: str, image: str = "v0.33.0", model: str = MODEL, label: bool = False, name: str = "", **config: Any) -> Manifest:
    stated = "kv_both" if label else {"prefill": "kv_producer", "decode": "kv_consumer"}[role]
    transfer = json.dumps({"kv_connector": "NixlConnector", "kv_role": stated, "kv_load_failure_policy": "fail", **config})
    made = server(
        put("command", value=["vllm", "serve", model]),
        put("image", value=f"vllm/vllm-openai:{image}"),
        args("--max-model-len=16384", "--kv-transfer-config", transfer, *more),
    )
    made["metadata"]["name"] = name or role
    labels = {"app": name or role, **({"llm-d.ai/role": role, "llm-d.ai/model": "qwen"} if label else {})}
    made["spec"]["selector"] = {"matchLabels": {"app": name or role}}
    made["spec"]["template"]["metadata"]["labels"] = labels
    pod(made)["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    return made


def pair(*decode: str, prefill: tuple[str, ...] = (), **both: Any) -> tuple[Manifest, Manifest]:
    return side("prefill", *prefill, **both), side("decode", *decode, **both)


def levels(code: str, *documents: Manifest) -> list[str]:
    return [each.severity.value for each in found(*documents) if each.code == code]


EAGLE = '--speculative-config={"method": "eagle3", "model": "acme/draft", "num_speculative_tokens": 2}'


@pytest.mark.parametrize(
    ("documents", "part"),
    [
        ((side("prefill", image="v0.32.0"), side("decode")), "vLLM version"),
        ((side("prefill", image="v0.32.0", label=True), side("decode", label=True)), "vLLM version"),
        (pair("--kv-cache-dtype=fp8"), "--kv-cache-dtype"),
        (pair("--dtype=float16", prefill=("--dtype=bfloat16",)), "--dtype"),
        (pair("--dtype=float16"), "--dtype"),
        (pair("--attention-backend=FLASHINFER", prefill=("--attention-backend=FLASH_ATTN",)), "--attention-backend"),
        (pair("--disable-hybrid-kv-cache-manager"), "hybrid KV cache manager"),
        (pair(EAGLE), "drafting method"),
        (pair("--tensor-parallel-size=3", prefill=("--tensor-parallel-size=2",)), "cannot be dealt"),
        (pair("--tensor-parallel-size=4", prefill=("--tensor-parallel-size=16",)), "share KV heads"),
        (pair(prefill=("--tensor-parallel-size=2",), image="v0.13.0"), "refuses a decode side that is smaller"),
        ((side("prefill"), side("decode", kv_connector="NixlPushConnector")), "transfer mode"),
    ],
)
def test_what_a_hand_over_compares_is_refused_where_it_differs(documents: tuple[Manifest, ...], part: str) -> None:
    told = [each for each in found(*documents) if each.code == "ARG-022" and part in each.summary]
    assert [(each.severity.value, each.subject.name) for each in told] == [("error", "decode")]


@pytest.mark.parametrize(
    "documents",
    [
        pair(),
        pair("--max-num-seqs=512", prefill=("--max-num-batched-tokens=32768",)),
        pair("--dtype=bfloat16"),
        pair("--tensor-parallel-size=4", prefill=("--tensor-parallel-size=2",)),
        pair("--tensor-parallel-size=2", prefill=("--tensor-parallel-size=4",)),
        pair("--block-size=64", prefill=("--block-size=16",)),
        pair('--speculative-config={"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 4}'),
        pair(EAGLE, image="v0.26.0"),
        pair("--disable-hybrid-kv-cache-manager", image="v0.17.0"),
        pair("--kv-cache-dtype=fp8", model="acme/unknown"),
        (side("prefill", image="v0.32.0"), side("decode", kv_connector_extra_config={"enforce_handshake_compat": False})),
        (side("prefill", image="v0.32.0"), side("decode"), side("prefill", name="other")),
        (side("prefill", image="v0.32.0"), side("decode", model="Qwen/Qwen3-32B")),
        (side("prefill", image="v0.11.2"), side("decode", image="v0.12.0")),
        (side("prefill", image="nightly"), side("decode")),
    ],
)
def test_what_a_hand_over_takes_is_let_be(documents: tuple[Manifest, ...]) -> None:
    assert not levels("ARG-022", *documents)


def test_what_may_work_is_warned_of_alone() -> None:
    assert levels("ARG-022", *pair("--block-size=16", prefill=("--block-size=64",))) == ["warning"]
    assert levels("ARG-022", side("prefill", label=True, model="/models/qwen"), side("decode", label=True)) == ["warning"]
    assert levels("ARG-022", side("prefill", kv_connector="MooncakeConnector"), side("decode")) == ["warning"]
    assert levels("ARG-022", side("prefill", image="v0.35.0"), side("decode", image="v0.36.0")) == ["warning"]


def test_two_models_of_one_pool_and_a_canary_are_no_pair() -> None:
    pool: Manifest = {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": {"name": "chat", "namespace": "models"},
        "spec": {"selector": {"matchLabels": {"llm-d.ai/model": "qwen"}}, "targetPorts": [{"number": 8000}]},
    }
    old, new = side("prefill", image="v0.32.0", label=True), side("decode", label=True)
    assert levels("ARG-022", pool, old, new) == ["error"]
    assert not levels("ARG-022", pool, old, new, side("decode", label=True, image="v0.32.0", name="canary"))


def test_both_sides_of_one_inference_service_are_a_pair() -> None:
    def half(policy: str, dtype: str) -> Manifest:
        transfer = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": policy})
        box = {
            "name": "main",
            "image": "vllm/vllm-openai:v0.33.0",
            "args": [f"--kv-transfer-config={transfer}", f"--kv-cache-dtype={dtype}"],
        }
        return {"template": {"containers": [box]}}

    service: Manifest = {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "LLMInferenceService",
        "metadata": {"name": "chat", "namespace": "models"},
        "spec": {"model": {"uri": f"hf://{MODEL}", "name": MODEL}, **half("fail", "fp8"), "prefill": half("fail", "auto")},
    }
    assert levels("ARG-022", service) == ["error"]
    service["spec"]["prefill"] = half("fail", "fp8")
    assert not levels("ARG-022", service)


def test_both_sides_of_a_charts_values_are_a_pair() -> None:
    def half(image: str) -> Manifest:
        transfer = json.dumps({"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "fail"})
        box = {"image": f"vllm/vllm-openai:{image}", "modelCommand": "vllmServe", "args": ["--kv-transfer-config", transfer]}
        return {"create": True, "replicas": 1, "containers": [box]}

    values: Manifest = {"modelArtifacts": {"uri": f"hf://{MODEL}", "name": MODEL}, "prefill": half("v0.32.0"), "decode": half("v0.33.0")}
    assert levels("ARG-022", values) == ["error"]
    assert not levels("ARG-022", {**values, "prefill": half("v0.33.0")})


def test_a_request_whose_cache_does_not_arrive_is_remarked_on_where_nobody_decided() -> None:
    def undecided(image: str) -> list[str]:
        return levels("ARG-024", side("prefill", image=image), side("decode", image=image, kv_load_failure_policy=None))

    assert undecided("v0.33.0") == undecided("v0.17.0") == ["info"]
    assert undecided("v0.16.0") == undecided("v0.12.0") == []
    assert not levels("ARG-024", *pair())
    assert not levels("ARG-024", side("decode", kv_load_failure_policy=None))


def test_half_a_pair_is_remarked_on() -> None:
    assert levels("ARG-025", side("prefill")) == ["info"]
    assert levels("ARG-025", side("decode")) == ["info"]
    assert not levels("ARG-025", *pair())
    assert not levels("ARG-025", side("prefill", label=True))
    assert not levels("ARG-025", side("prefill"), side("decode", label=True, name="both"))
