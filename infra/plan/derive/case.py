"""What every decision about an engine starts from: the server, its pool, and the question that its own command line poses."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from interlock.infra.catalog.vllm_flags import flag_status
from interlock.infra.config.models import ImageTrack
from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.engine.arguments import read_line
from interlock.infra.plan.models import question_of
from interlock.infra.plan.pools import shares_per_card
from interlock.infra.plan.reasons import Reason
from interlock.infra.sizing.ask import quick
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.request import SizingRequest
from interlock.infra.sizing.result import SizingResult
from interlock.infra.sizing.settings import Resolved, resolve

# Fields of the engine that the planner follows -> fields of its request.
_ASKED: Mapping[str, str] = {
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "enable_expert_parallel": "expert_parallel",
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "enforce_eager": "enforce_eager",
    "max_loras": "max_loras",
    "language_model_only": "language_model_only",
}
# Parts of a case that follow from the config alone.
_UNDECIDED = ("given", "base")


@dataclass(frozen=True, slots=True)
class Choice:
    """A value for a field of the engine, with its reason; None leaves the field to the engine and keeps the remark."""

    field: str
    value: Any
    reason: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """Ranks of one replica."""

    tp: int
    pp: int
    dp: int = 1
    """Groups of TP x PP ranks: DP, times the prefill context parallel size."""
    choices: tuple[Choice, ...] = field(default=(), compare=False)
    """What to set, with the reasons."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.dp


@dataclass(frozen=True)
class Case:
    """One server while its arguments are decided."""

    server: ServerConfig
    pool: PoolConfig
    vllm: str
    """vLLM version in the image; empty when it cannot be told."""
    env: Mapping[str, str]
    engine: EngineArgs
    """Arguments decided so far; at the beginning those of the config."""
    most_replicas: int = 1
    tiered: bool = False
    """Whether its tenants differ in their patience."""

    @cached_property
    def given(self) -> frozenset[str]:
        """Fields that the person stated, in ``engine`` or among the extra arguments; they are never changed."""
        stated = {name for name, value in self.server.engine.stated().items() if value is not None}
        extra = (
            {flag.name.replace("-", "_") for flag in read_line(("model", *self.server.extra.args)).flags} if self.server.extra.args else ()
        )
        return frozenset(stated.union(extra))

    @cached_property
    def base(self) -> SizingRequest:
        """The question that the config's own arguments pose."""
        return question_of(self.server, self.server.engine, self.pool, self.vllm, self.env).request

    @cached_property
    def request(self) -> SizingRequest:
        """The question with everything decided so far."""
        stated = self.engine.stated()
        changed = {asked: stated[name] for name, asked in _ASKED.items() if name not in self.given and stated.get(name) is not None}
        return replace(self.base, **changed) if changed else self.base

    @cached_property
    def resolved(self) -> Resolved:
        """The settings that the engine would take."""
        return resolve(self.request)

    @property
    def facts(self) -> ModelFacts | None:
        """The model, when it is known."""
        return self.resolved.facts

    @cached_property
    def pools(self) -> bool:
        """Whether the model answers with vectors or scores."""
        return self.engine.runner == "pooling" or bool(self.facts and self.facts.pools)

    @property
    def simulated(self) -> bool:
        """The test-only engine without a GPU: nothing is tuned for it."""
        return self.server.track is ImageTrack.CPU

    @property
    def shared(self) -> bool:
        """Whether the pool gives out parts of cards."""
        return self.pool.share.kind is not Sharing.EXCLUSIVE

    @property
    def units(self) -> int:
        """Units of the GPU resource on one node."""
        return self.pool.gpus_per_node * shares_per_card(self.pool)

    def takes(self, field: str) -> bool:
        """Whether the version in the image certainly has the argument."""
        return bool(self.vllm) and flag_status(f"--{field.replace('_', '-')}", self.vllm).exists

    def with_choices(self, choices: Iterable[Choice], why: dict[str, Reason]) -> "Case":
        """The case after these choices: those for a field that the person stated are dropped, all others are kept with their reason."""
        taken = [choice for choice in choices if choice.field not in self.given]
        for choice in taken:
            why[choice.field] = Reason(value=_shown(choice.value), reason=choice.reason, instead=choice.instead)
        values = {choice.field: choice.value for choice in taken if choice.value is not None}
        if not values:
            return self
        made = replace(self, engine=self.engine.model_copy(update=values))
        # What does not depend on what was decided is kept: each costs more than the decisions together.
        kept = _UNDECIDED if _ASKED.keys() & values.keys() else (*_UNDECIDED, "request", "resolved")
        made.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        return made


Decide = Callable[[Case], Iterable[Choice]]
"""One decision: what it would set, in the order in which it is to be read."""


def tried(case: Case, **changes: Any) -> SizingResult:
    """The planner's answer to the case with these fields of the request changed; kept, and without suggestions."""
    return quick(replace(case.request, **changes))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | Mapping) else str(value)
