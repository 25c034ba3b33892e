"""Routes that split their requests between servers: whether the others can take them."""

from collections.abc import Iterator

from interlock.infra.config.cluster import ClusterConfig


def split_problems(config: ClusterConfig, index: int) -> Iterator[tuple[str, str]]:
    """(path, problem) of the servers that a server's route names in ``split``."""
    server = config.servers[index]
    known = {each.name: each for each in config.servers}
    for name in server.route.split if server.route else ():
        place, other = f"servers[{index}].route.split.{name}", known.get(name)
        if other is None or other is server:
            listed = ", ".join(each for each in known if each != server.name) or "none"
            yield place, f"{name!r} is not another server of this stack; others: {listed}"
            continue
        own_name, its_name = server.served_name or server.model.id, other.served_name or other.model.id
        if its_name != own_name:
            told = f"{name} answers to the model {its_name!r} and {server.name} to {own_name!r}, so one of them answers 404"
            yield place, f"{told}: give both the same served_name"
        if other.route and other.route.split:
            yield place, f"{name} splits its own route: name the servers of both in one split"


def split_of(config: ClusterConfig, name: str) -> list[int]:
    """Places of the servers whose routes lead to the server ``name`` as well."""
    return [at for at, each in enumerate(config.servers) if each.route and each.route.split.get(name)]
