"""What a component makes of its arguments is planned, judged and built once."""

from typing import Any

import pytest

from interlock.components import vllm_server
from interlock.components._made import make
from interlock.infra.config import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.sets import StackObjects
from interlock.infra.plan.types import ClusterPlan
from tests.support import changed
from tests.support.components import MODEL, POOL

ARGS = {"server": {"model": MODEL, "engine": {"max_model_len": 8192}}, "pool": POOL, "namespace": "team-a", "stack": "dev"}
WAIVED = {"server.replicas": 17, "waivers": [{"code": "GPU-004", "reason": "tried on purpose"}]}


@pytest.mark.parametrize(("changes", "times"), [({}, 1), (WAIVED, 2)])
def test_objects_are_built_once_and_again_where_one_of_them_carries_a_waiver(
    changes: dict[str, Any], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[ClusterPlan] = []

    def counted(config: ClusterConfig, plan: ClusterPlan) -> StackObjects:
        built.append(plan)
        return stack_objects(config, plan)

    monkeypatch.setattr(vllm_server, "stack_objects", counted)
    args: dict[str, Any] = dict(ARGS)
    for path, value in changes.items():
        args = changed(args, path, value)
    made = make(vllm_server.RECIPE, "chat", args)
    assert len(built) == times
    assert ("interlock.dev/waive" in str(made.objects.manifests)) == (times == 2)
