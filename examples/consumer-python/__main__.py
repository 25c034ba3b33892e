"""Settings of an OpenAI client, read from the outputs of the serving stack. Needs nothing of Interlock but its contract."""

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

CONTRACT = 1
config = pulumi.Config()
serving = config.require("serving")


def choose(outputs: Any) -> dict[str, Any]:
    """The server that the config names."""
    if outputs is None or outputs["version"] != CONTRACT:
        raise pulumi.RunError(f"{serving} has no output interlock of version {CONTRACT}: is it a serving stack, and was it updated?")
    name, servers = config.require("server"), outputs["servers"]
    if name not in servers:
        raise pulumi.RunError(f"server: {name!r} is not served by {serving}; it serves {', '.join(sorted(servers)) or 'nothing'}")
    return dict(servers[name])


server = pulumi.StackReference(serving).get_output("interlock").apply(choose)
k8s.core.v1.ConfigMap(
    "settings",
    metadata={"name": "model-settings", "namespace": config.require("namespace")},
    data={
        "OPENAI_BASE_URL": server["url"],
        "OPENAI_MODEL": server["model"],
        "MAX_TOKENS": server["limits"]["max_model_len"].apply(str),
        "TIMEOUT_SECONDS": server["limits"]["longest_answer_seconds"].apply(str),
    },
)
pulumi.export("url", server["url"])
pulumi.export("model", server["model"])
