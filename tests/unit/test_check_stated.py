"""Whatever a rule asks of nodes, models and answers, a person can state in ``.interlock.yaml``."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from interlock.cli.check.config import Hint, read_config
from interlock.cli.check.run import check_reading
from interlock.cli.check.stated import pool_of
from interlock.cli.reading import read_paths
from interlock.infra.facts import Fact, Pool
from tests.support import TODAY

RULES = Path(__file__).parents[2] / "infra" / "rules"
# Read from Karpenter's NodePools and from the objects of a stack; nobody has to write them down.
FROM_OBJECTS = {"daemon_cpu", "daemon_memory", "domain", "domain_nodes"}
ALL = Hint(
    gpu="h100",
    gpus_per_node=8,
    nodes=2,
    max_nodes=4,
    free=1,
    memory_gib=79.0,
    used_gib=1.0,
    compute_capability=9.0,
    driver="570.1",
    runtime="nvidia",
    sharing="mps",
    shares=2,
    nvlink=True,
    cpu=100.0,
    memory="900Gi",
    disk="1Ti",
    notice_seconds=120,
)

ENGINE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.33.0
          args: [Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, --enable-lora]
          resources: {limits: {nvidia.com/gpu: 1}}
          ports: [{name: http, containerPort: 8000}]
---
apiVersion: v1
kind: Service
metadata: {name: chat}
spec: {selector: {app: chat}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: chat}
spec:
  parentRefs: [{name: gate}]
  rules: [{backendRefs: [{name: chat, port: 80}], timeouts: {request: 700s}}]
"""


def test_every_fact_of_a_pool_that_a_rule_reads_can_be_stated() -> None:
    facts = {each.name for each in fields(Pool) if isinstance(getattr(Pool(origin=None, name=""), each.name), Fact)}  # type: ignore[arg-type]
    text = "\n".join(path.read_text("utf-8") for path in RULES.rglob("*.py"))
    read = {name for name in re.findall(r"\bpool\.(\w+)", text) if name in facts}
    stated = {name for name in facts if getattr(pool_of(ALL), name).known}
    assert len(read) > 10
    assert read <= stated | FROM_OBJECTS


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ("pool: {gpu: h100, runtime: runc}", "GPU-018"),
        ("pool: {gpu: l4, used_gib: 6}", "MEM-008"),
        ("pool: {memory_gib: 11.6, compute_capability: 8.6}", "MEM-001"),
        ("pool: {gpu: h1000}", "MEM-015"),
        ("pool: {compute_capability: 6.1, memory_gib: 80}", "GPU-015"),
        ("lora_rank: 64", "ARG-011"),
        ("longest_answer_seconds: 900", "NET-006"),
    ],
)
def test_what_a_person_states_is_judged(tmp_path: Path, stated: str, code: str) -> None:
    config, manifest = tmp_path / ".interlock.yaml", tmp_path / "a.yaml"
    config.write_text(f"version: 1\n{stated}\n")
    manifest.write_text(ENGINE)
    told = {each.finding.code for each in check_reading(read_paths([str(manifest)]), read_config(config), today=TODAY).findings}
    config.write_text("version: 1\n")
    before = {each.finding.code for each in check_reading(read_paths([str(manifest)]), read_config(config), today=TODAY).findings}
    assert code in told - before
