"""The table of kinds: what the components, the deployer's role, the policy pack and recognition know of a kind."""

import pytest

from interlock.infra.catalog.kinds import Maker, UnknownKindError, kind_of, kinds
from interlock.infra.catalog.tables import table
from interlock.infra.manifests.common import manifest
from interlock.infra.recognise.recognise import READERS


def test_a_kind_that_kubernetes_serves_is_served_in_that_version() -> None:
    served = table("k8s_fields.json")["kinds"]
    ours = {kind.kind: kind.api for kind in kinds().values()}
    assert all(f"{ours[name]}/{name}" in served for name in served.values() if name in ours)


def test_each_kind_has_one_row_and_a_plural_of_its_own() -> None:
    names = [(kind.group, kind.plural) for kind in kinds().values()]
    assert len(names) == len(set(names))
    assert all(plural == plural.lower() for _, plural in names)


def test_every_kind_that_has_a_reader_is_in_the_table() -> None:
    assert set(READERS) <= set(kinds())


def test_what_starts_nothing_holds_no_engine() -> None:
    assert not {name for name, kind in kinds().items() if kind.runs_nothing} & {"Pod", "Deployment", "Job", "DaemonSet", "RayCluster"}
    assert kinds()["ConfigMap"].runs_nothing
    assert not kinds()["Deployment"].runs_nothing


def test_a_serving_stack_makes_the_kinds_of_its_servers_and_no_secrets() -> None:
    serving = {name for name, kind in kinds().items() if kind.made is Maker.SERVING}
    assert {"Deployment", "Service", "HTTPRoute", "PodDisruptionBudget"} <= serving
    assert not {"Secret", "ClusterRole"} & serving


@pytest.mark.parametrize(
    ("api", "kind", "said"),
    [("example.com/v1", "Widget", r"no object of kind Widget \(example.com/v1\)"), ("apps/v1beta1", "Deployment", "made as apps/v1, not")],
)
def test_an_object_of_an_unknown_kind_or_version_is_one_clear_error_when_it_is_built(api: str, kind: str, said: str) -> None:
    with pytest.raises(UnknownKindError, match=said):
        manifest(api, kind, "x", "n", {})
    with pytest.raises(UnknownKindError, match=said):
        kind_of(api, kind)
