"""How tests are shared among workers: what shares a control plane stays together and comes first, and a crash is told once."""

from types import SimpleNamespace
from typing import Any

from tests import conftest


class Worker:
    """What the scheduler sees of a worker."""

    shutting_down = False
    gateway = SimpleNamespace(id="a worker")

    def __init__(self) -> None:
        self.given: list[int] = []

    def send_runtest_some(self, tests: list[int]) -> None:
        self.given += tests

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduled(tests: list[str]) -> tuple[Any, list[Worker]]:
    """The scheduler after its first round, and its two workers."""
    config: Any = SimpleNamespace(option=SimpleNamespace(loadscopereorder=True), getvalue=lambda _: ["popen", "popen"])
    scheduler = conftest.pytest_xdist_make_scheduler(config, None)
    workers = [Worker(), Worker()]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    return scheduler, workers


def test_what_shares_a_control_plane_or_a_node_comes_first() -> None:
    tests = [
        "tests/unit/test_a.py::test_a",
        "tests/property/test_b.py::test_b",
        "tests/engine/test_c.py::test_c",
        "tests/cluster/test_d.py::t",
    ]
    items: Any = [SimpleNamespace(nodeid=each) for each in tests]
    conftest.pytest_collection_modifyitems(items)
    assert [each.nodeid for each in items] == tests[::-1]


def test_a_folder_that_shares_a_control_plane_stays_on_one_worker() -> None:
    tests = [f"tests/cluster/prod/test_{file}.py::test_{number}" for file in "ab" for number in range(2)]
    _, workers = scheduled([*tests, "tests/cluster/test_c.py::test_c", "tests/unit/test_d.py::test_d"])
    assert [each.given for each in workers] == [[0, 1, 2, 3], [4, 5]]


def test_the_test_in_which_a_worker_ended_is_told_and_the_rest_goes_to_another_worker() -> None:
    tests = [f"tests/unit/test_{file}.py::test_{number}" for file in "ab" for number in range(4)]
    scheduler, (first, second) = scheduled(tests)
    scheduler.mark_test_complete(first, 0)
    assert scheduler.remove_node(first) == tests[1]
    # As xdist does: a new worker in its place.
    instead = Worker()
    scheduler.add_node(instead)
    scheduler.add_node_collection(instead, tests)
    scheduler.schedule()
    assert (second.given, instead.given) == ([4, 5, 6, 7], [2, 3])
