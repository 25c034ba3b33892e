"""Whether the weights of a server will be where it looks for them."""

from collections.abc import Iterator

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import StoreKind


def not_fetched(config: ClusterConfig, index: int) -> Iterator[tuple[str, str]]:
    """(path, problem) where the folder of a server's model would never be there: another revision of it is fetched, or the claim that
    this stack makes is empty and nothing brings the model."""
    server = config.servers[index]
    store = next((each for each in config.stores if each.name == server.weights), None)
    store = next((each for each in config.stores if store and each.name == store.source), store)
    if store is None or server.model.path:
        return
    place = f"servers[{index}].model.revision"
    brought, wanted = [each.revision for each in store.prefetch if each.model == server.model.id], server.model.revision
    if brought and wanted and wanted not in brought:
        told = f"{wanted!r} is not what store {store.name} fetches of this model ({', '.join(brought)})"
        yield place, f"{told}: state the same revision in both, or leave it out here"
    elif len(set(brought)) > 1 and wanted is None:
        yield place, f"is missing, and store {store.name} fetches {', '.join(brought)} of this model: state which one is served"
    elif store.kind is StoreKind.CLAIM and not brought and not store.filled:
        at, revision = f"stores[{config.stores.index(store)}]", f", revision: {wanted}" if wanted else ", revision: COMMIT"
        told = f"claim {store.name} is made empty, and nothing brings {server.model.id} into it: the engine would find no weights"
        way = f"add {{model: {server.model.id}{revision}}} to {at}.prefetch, or say in {at}.filled who puts it there"
        yield f"servers[{index}].weights", f"{told}; {way}"
