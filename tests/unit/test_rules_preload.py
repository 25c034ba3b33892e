"""Weights that a daemon keeps on the cards: the engine must reach its socket, or load from the disk."""

from typing import Any

import pytest

from tests.unit.test_rules_traps import Manifest, args, pod, put, server, worst

FORMAT = "--load-format=ipc_cache"
STRICT = '--model-loader-extra-config={"fallback": false}'
OWN = '--model-loader-extra-config={"socket_dir": "/run/weights"}'


def engine(*more: str, daemon: bool = False, **volumes: Any) -> Manifest:
    """``volumes``: path (``_`` for ``/``) to the source of the volume that every container mounts there."""
    made = server(args("--max-model-len=16384", FORMAT, *more))
    spec = pod(made)
    if daemon:
        box = {
            "name": "weights",
            "image": "vllm/vllm-openai:v0.33.0",
            "command": ["vllm", "preload", "--model", "Qwen/Qwen2.5-7B-Instruct"],
        }
        spec["containers"].append(box)
    for name, source in volumes.items():
        spec["volumes"].append({"name": name, **source})
        for each in spec["containers"]:
            each.setdefault("volumeMounts", []).append({"name": name, "mountPath": "/" + name.replace("_", "/")})
    return made


HERE: Manifest = {"emptyDir": {}}
NODE: Manifest = {"hostPath": {"path": "/run/weights"}}


@pytest.mark.parametrize(
    ("level", "document"),
    [
        ("warning", engine()),
        ("error", engine(STRICT)),
        ("warning", engine(tmp=HERE)),
        ("warning", engine(daemon=True)),
        ("warning", engine(OWN, daemon=True, tmp=HERE)),
        ("none", engine(daemon=True, tmp=HERE)),
        ("none", engine(OWN, daemon=True, run_weights=HERE)),
        ("none", engine(OWN, run_weights=NODE)),
        ("none", server(put("args", value=["--load-format=safetensors"]))),
        ("none", server(put("command", value=["sh", "-c", f"vllm preload --model a & vllm serve Qwen/Qwen2.5-7B-Instruct {FORMAT}"]))),
        ("none", engine("--model-loader-extra-config=${EXTRA}")),
    ],
)
def test_an_engine_that_loads_from_a_daemon_must_reach_it(level: str, document: Manifest) -> None:
    assert worst("STO-012", document) == level
