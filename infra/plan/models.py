"""What the plan must know about a model: from the config's typed fields first, else from the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass

from interlock.infra.config.models import ModelConfig
from interlock.infra.config.pools import PoolConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs, ServeArgs
from interlock.infra.engine.arguments import read_line
from interlock.infra.facts import known
from interlock.infra.sizing import SizingRequest, SizingResult, model_facts, whole_weights
from interlock.infra.sizing.ask import Card, Model, Question, answer, ask
from interlock.infra.values import GIB, bytes_of


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The few model facts that placement needs; None = not known."""

    attention_heads: int | None
    kv_heads: int | None
    weight_bytes: int | None
    max_position: int | None
    source: str
    width: int | None = None
    """Layers x query heads x head size, for the work of attention."""


def model_shape(model: ModelConfig, quantization: str | None = None) -> ModelShape:
    """The shape of ``model``: what the config states, filled up from the catalog."""
    facts = model_facts(model.config if isinstance(model.config, Mapping) else model.id, quantization)
    stated = int(model.weights_gib * GIB) if model.weights_gib else None
    if facts is None:
        return ModelShape(model.attention_heads, model.kv_heads, stated, model.max_position, "the config" if stated else "")
    return ModelShape(
        model.attention_heads or facts.attention_heads or None,
        model.kv_heads or facts.kv_heads or None,
        stated or whole_weights(facts) or None,
        model.max_position or facts.max_position or None,
        "the config" if stated else f"catalog: {facts.source}" if facts.source else "its own config.json",
        facts.layers * facts.attention_heads * facts.head_dim or None,
    )


def card_of(pool: PoolConfig) -> Card:
    """What is under each rank of an engine on ``pool``: a card, a share of one, or a MIG instance."""
    stated = bytes_of(pool.gpu_memory) / GIB if pool.gpu_memory else None
    return Card(gpu=pool.gpu, total_gib=stated, mig_profile=pool.share.profile)


def question_of(server: ServerConfig, engine: EngineArgs, pool: PoolConfig, vllm: str, env: Mapping[str, str]) -> Question:
    """What the planner is asked about a server: its own command line, extra arguments and environment included."""
    line = ServeArgs(model=server.model.id, served_model_name=server.name, engine=engine, extra=tuple(server.extra.args))
    flags = {flag.name: flag.value for flag in read_line(line.to_argv()).flags}
    stated = int(server.model.weights_gib * GIB) if server.model.weights_gib else None
    own = server.model.config if isinstance(server.model.config, Mapping) else None
    model = Model(name=None if own else server.model.id, config=own, checkpoint_bytes=stated)
    return ask(flags, {name: known(value) for name, value in {**env, **server.extra.env}.items()}, model, card_of(pool), vllm or None)


@dataclass(frozen=True, slots=True)
class Fit:
    """What the planner was asked about a server, and its answer."""

    request: SizingRequest
    result: SizingResult

    @property
    def told(self) -> str:
        """The verdict with its reasons, in one line."""
        return f"{self.result.verdict.replace('_', ' ')}: {'; '.join(self.result.reasons)}"

    @property
    def offloaded(self) -> int:
        """Bytes of weights that stay in host memory, all ranks of a replica together."""
        asked = self.request
        return int(asked.cpu_offload_gb * GIB) * asked.tp * asked.pp * asked.dp


def fit(server: ServerConfig, engine: EngineArgs, pool: PoolConfig, vllm: str, env: Mapping[str, str]) -> Fit:
    """What one GPU of the replica would hold, by the planner."""
    request = question_of(server, engine, pool, vllm, env).request
    return Fit(request, answer(request))
