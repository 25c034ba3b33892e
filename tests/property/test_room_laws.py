"""Laws of the room in a pool: both questions about it have one answer, and numbers of pods cost nothing."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.infra.facts import Bundle, Origin, Pool, known
from interlock.infra.facts.room import Pods, asked_units, nodes_needed, packed
from interlock.infra.rules.reading.room import room_for

groups = st.lists(st.builds(Pods, units=st.integers(1, 8), owner=st.sampled_from("abc"), count=st.integers(0, 12)), max_size=5)
ONE_BILLION = 10**9


@given(groups, st.integers(8, 16))
def test_the_nodes_that_pods_need_hold_them_and_one_less_does_not(pods: list[Pods], per_node: int) -> None:
    needed = nodes_needed(pods, per_node)
    assert packed(pods, per_node, needed)[1] == 0
    assert needed == 0 or packed(pods, per_node, needed - 1)[1] > 0


@given(groups, st.integers(1, 8), st.integers(0, 6))
def test_every_pod_is_placed_once_or_counted_as_left(pods: list[Pods], per_node: int, nodes: int) -> None:
    filled, left = packed(pods, per_node, nodes)
    assert sum(len(node.pods) for node in filled) + left == sum(each.count for each in pods)
    assert all(node.free >= 0 for node in filled)
    if not left:
        assert sum(per_node - node.free for node in filled) == asked_units(pods)


@given(groups, st.integers(1, 8), st.integers(0, 6))
def test_equal_pods_in_one_group_or_one_by_one_are_the_same(pods: list[Pods], per_node: int, nodes: int) -> None:
    single = [Pods(each.units, each.owner) for each in pods for _ in range(each.count)]
    assert packed(pods, per_node, nodes) == packed(single, per_node, nodes)
    assert nodes_needed(pods, per_node) == nodes_needed(single, per_node)


def test_a_billion_pods_are_counted_without_being_listed() -> None:
    many = [Pods(3, "a", ONE_BILLION), Pods(1, "b", ONE_BILLION)]
    assert nodes_needed(many, 8) == ONE_BILLION // 2
    assert packed(many, 8, 2)[1] == 2 * ONE_BILLION - 8


def test_a_pool_of_a_billion_nodes_is_not_filled_node_by_node() -> None:
    pools = [Pool(origin=Origin(), name="a", gpus_per_node=known(8), nodes=known(nodes)) for nodes in (2, ONE_BILLION)]
    assert [room_for(known(4), pool, Bundle()) for pool in pools] == [16, None]
