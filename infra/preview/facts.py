"""A plan as facts: its own objects recognised like anybody's, and its pools, also those that no server uses."""

from collections.abc import Sequence
from dataclasses import replace

from interlock.infra.facts import Bundle, Origin, Pool
from interlock.infra.facts.carried import carried_pool
from interlock.infra.manifests.carried import pool_facts
from interlock.infra.manifests.placed import Draft, finished
from interlock.infra.plan.types import ClusterPlan, PlannedPool
from interlock.infra.recognise import Document, recognise


def plan_facts(plan: ClusterPlan, drafts: Sequence[Draft], source: str = "") -> Bundle:
    """The facts of a whole plan: the set is closed, document ``i`` is ``drafts[i]``, and pools stand where the config has them."""
    bundle = recognise([Document(draft.manifest, source, index) for index, draft in enumerate(drafts)], closed=True)
    carried = {pool.name for pool in plan.pools}
    others = tuple(pool for pool in bundle.pools if not (pool.origin.form == "carried" and pool.name in carried))
    return replace(bundle, pools=(*filter(None, map(_pool, plan.pools)), *others))


def _pool(pool: PlannedPool) -> Pool | None:
    place = f"pools[{pool.index}]"
    made = finished(pool_facts(pool), place)
    origin = Origin(kind="Pool", name=pool.name, path=place, form="carried", ours=True)
    return carried_pool(made.manifest, origin, {name: source.field for name, source in made.sources.items()})
