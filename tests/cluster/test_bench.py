"""The benchmarks that need a control plane run to their end on small sizes."""

from collections.abc import Iterator

import pytest

from tools.bench import frame, platform, policies, prod
from tools.bench.projects import seconds, stack_config
from tools.cluster.testing import LocalCluster, gpu_node

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def own_nodes(cluster: LocalCluster) -> Iterator[LocalCluster]:
    """The cluster, whose nodes a test may replace."""
    yield cluster
    cluster.set_nodes(gpu_node("h100-0"), gpu_node("h100-1"))


def test_the_preview_of_one_server_is_measured_beside_a_flat_program(cluster: LocalCluster) -> None:
    for measured in (frame.preview, frame.components):
        count, ours, flat, ratio = measured(cluster, stack_config("dev"), servers=1, times=1)
        assert count >= 2
        assert ratio == pytest.approx(ours / flat)


def test_the_preview_of_prod_and_of_its_flat_twin_is_measured(cluster: LocalCluster) -> None:
    config = stack_config("prod") | {"create_namespace": True}
    ours, flat, count = prod.projects(cluster, config)
    assert seconds(ours.preview) > 0
    assert seconds(flat.preview) > 0
    assert count >= 10


def test_the_policy_pack_is_measured_beside_an_empty_one(cluster: LocalCluster) -> None:
    ((size, plain, empty, ours, overhead),) = policies.measure(cluster, [10], times=1)
    assert size == 10
    assert overhead == pytest.approx(ours - empty)
    assert plain > 0


def test_a_platform_stack_goes_up_twice_and_away(own_nodes: LocalCluster) -> None:
    pools, objects, *taken = platform.deployed(own_nodes, pools=2)
    assert pools == 2
    assert objects > 2
    assert len(taken) == 3
