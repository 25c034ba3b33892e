"""A typed model of the engine's flags under vLLM's own names, with its start-up checks that need no GPU."""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from interlock.infra.engine.options import problem, words
from interlock.infra.sizing.follows import LARGEST, WHOLE, whole
from interlock.infra.sizing.request import AUTO

_FROZEN = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


UNKNOWN = "engine_arguments"
"""Type of the validation error whose context lists (name, problem) of arguments."""


class EngineArgs(BaseModel):
    """Engine flags a person may set: these, and every other one by its name (engine-args.md). What is left out is decided by the plan."""

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    @field_validator(
        "max_model_len", "max_num_seqs", "max_num_batched_tokens", "max_num_queued_tokens", "kv_cache_memory_bytes", mode="before"
    )
    @classmethod
    def _as_the_parser_reads_it(cls, value: Any, field: ValidationInfo) -> Any:
        if not isinstance(value, str):
            return value
        number = whole(value)
        if number < 0 and field.field_name != "max_model_len":
            raise ValueError(f"{value[:40]!r} is not a number such as {WHOLE}: only max_model_len may be left to the engine")
        return number

    @field_validator("max_model_len")
    @classmethod
    def _a_length(cls, value: int | None) -> int | None:
        if value is not None and value < 1 and value != AUTO:
            raise ValueError(f"{value} is not a length: a number of tokens from 1 on, or auto")
        return value

    tensor_parallel_size: int | None = Field(default=None, ge=1, le=64)
    """GPUs that share each layer (TP)."""
    pipeline_parallel_size: int | None = Field(default=None, ge=1, le=64)
    """Stages of layers (PP)."""
    data_parallel_size: int | None = Field(default=None, ge=1, le=1024)
    """Engine copies behind one URL in one replica (DP)."""
    enable_expert_parallel: bool | None = None
    """Spread the experts of a mixture over TP x DP instead of splitting each."""
    dtype: Literal["auto", "half", "float16", "bfloat16", "float", "float32"] | None = None
    """Type of weights and activations."""
    quantization: str | None = None
    """Quantization method; omit for what the checkpoint says."""
    kv_cache_dtype: str | None = None
    """Type of the KV cache (auto, fp8, ...)."""
    max_model_len: int | None = Field(default=None, ge=AUTO, le=LARGEST)
    """Longest request in tokens, prompt and answer; auto (or -1): the engine takes what its KV cache holds, known only when it runs."""
    max_num_seqs: int | None = Field(default=None, ge=1, le=LARGEST)
    """Requests in one step."""
    max_num_batched_tokens: int | None = Field(default=None, ge=1, le=LARGEST)
    """Tokens in one step."""
    gpu_memory_utilization: float | None = Field(default=None, gt=0, le=1)
    """Share of the card that the engine takes."""
    kv_cache_memory_bytes: int | None = Field(default=None, ge=1, le=LARGEST)
    """Fixed size of the KV pool in bytes; takes the place of gpu_memory_utilization."""
    block_size: int | None = Field(default=None, ge=1, le=LARGEST)
    """Tokens of one KV block."""
    enforce_eager: bool | None = None
    """No CUDA graphs: slower, a fallback at the edge of memory."""
    enable_prefix_caching: bool | None = None
    """Reuse KV blocks of equal prefixes."""
    scheduling_policy: Literal["fcfs", "priority"] | None = None
    """Order of waiting requests."""
    long_prefill_token_threshold: int | None = Field(default=None, ge=0, le=LARGEST)
    """Tokens of a step that one long prompt may take beside others."""
    max_num_queued_reqs: int | None = Field(default=None, ge=1, le=LARGEST)
    """Requests in flight, running and waiting, above which new ones are refused with HTTP 503; omit for twice what runs in one step."""
    max_num_queued_tokens: int | None = Field(default=None, ge=1, le=LARGEST)
    """Prompt tokens that wait for their prefill, above which new requests are refused with HTTP 503."""
    trust_remote_code: bool | None = None
    """Run the checkpoint's own Python code."""
    enable_lora: bool | None = None
    """Serve LoRA adapters."""
    max_loras: int | None = Field(default=None, ge=1, le=LARGEST)
    """Adapters in one step."""
    max_lora_rank: int | None = Field(default=None, ge=1, le=LARGEST)
    """Largest adapter rank."""
    runner: Literal["auto", "generate", "pooling"] | None = None
    """generate, or pooling for embedding and reranker models."""
    convert: Literal["auto", "none", "embed", "classify"] | None = None
    """What a generating model is made into: embed for vectors, classify for scores."""
    language_model_only: bool | None = None
    """Leave the vision tower out."""
    limit_mm_per_prompt: dict[str, Any] | None = None
    """Images, videos and sounds of one prompt."""
    enable_auto_tool_choice: bool | None = None
    """The model decides when it calls a tool; needs tool_call_parser."""
    tool_call_parser: str | None = None
    """How the model writes tool calls."""
    reasoning_parser: str | None = None
    """How the model marks its reasoning."""
    default_chat_template_kwargs: dict[str, Any] | None = None
    """Arguments of the chat template that a request may override."""
    load_format: str | None = None
    """Loader (auto, safetensors, runai_streamer, fastsafetensors, ...)."""
    speculative_config: dict[str, Any] | None = None
    """Speculative decoding, as vLLM's JSON."""
    override_generation_config: dict[str, Any] | None = None
    """Sampling defaults, as vLLM's JSON."""

    @model_validator(mode="before")
    @classmethod
    def _known_arguments(cls, data: Any) -> Any:
        """Every further name is an argument of some version, with a value of its type; which version has it is for the rules to say."""
        others = {str(name): value for name, value in data.items() if name not in cls.model_fields} if isinstance(data, dict) else {}
        found = [(name, text) for name, value in others.items() if (text := problem(name, value))]
        if found:
            told = "; ".join(f"{name}: {text}" for name, text in found)
            raise PydanticCustomError(UNKNOWN, "{told}", {"told": told, "found": found})
        return data

    @model_validator(mode="after")
    def _start_up_checks(self) -> Self:
        if (self.max_loras or self.max_lora_rank) and not self.enable_lora:
            raise ValueError("max_loras and max_lora_rank do nothing without enable_lora: true")
        return self

    def stated(self) -> dict[str, Any]:
        """Every argument that has a value: the fields in their order, then the others by name."""
        fields = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        return fields | {name: value for name, value in sorted((self.model_extra or {}).items()) if value is not None}

    @property
    def tp(self) -> int:
        """Tensor parallel size, 1 when not set."""
        return self.tensor_parallel_size or 1

    @property
    def pp(self) -> int:
        """Pipeline parallel size, 1 when not set."""
        return self.pipeline_parallel_size or 1

    @property
    def dp(self) -> int:
        """Data parallel size, 1 when not set."""
        return self.data_parallel_size or 1

    @property
    def pcp(self) -> int:
        """Prefill context parallel size, 1 when not set."""
        return int((self.model_extra or {}).get("prefill_context_parallel_size") or 1)

    @property
    def apart(self) -> int:
        """Groups of TP x PP ranks, each on cards of its own: DP x PCP."""
        return self.dp * self.pcp

    @property
    def length(self) -> int | None:
        """Tokens of the longest request; None where the model or the engine decides it."""
        return None if self.max_model_len == AUTO else self.max_model_len

    @property
    def gpus(self) -> int:
        """GPUs that one replica's engine uses: TP x PP x PCP x DP."""
        return self.tp * self.pp * self.apart


class Group(BaseModel):
    """A replica of several pods, joined by vLLM's own executor over nodes (``--nnodes``, since 0.11.1).

    Rank and address are variables that the LeaderWorkerSet controller sets in every container. Data-parallel ranks follow from the rank
    of the node, and their address is the leader's (vllm/engine/arg_utils.py).
    """

    model_config = _FROZEN

    nodes: int = Field(ge=2)
    """Pods of the replica."""
    local: int | None = Field(default=None, ge=1)
    """Data-parallel ranks of one node where every node takes requests for its own ranks; None: the leader takes them all."""

    @property
    def headless(self) -> bool:
        """Whether the workers have no API server."""
        return self.local is None

    def words(self, *, worker: bool) -> list[str]:
        """The arguments of a leader or a worker."""
        argv = ["--nnodes", str(self.nodes), "--node-rank", "$(LWS_WORKER_INDEX)", "--master-addr", "$(LWS_LEADER_ADDRESS)"]
        if self.local == 1:
            return [*argv, "--data-parallel-external-lb"]
        if self.local:
            return [*argv, "--data-parallel-hybrid-lb", "--data-parallel-size-local", str(self.local)]
        return [*argv, "--headless"] if worker else argv


_OF_REQUESTS = frozenset({"shutdown_timeout", "api_server_count", "middleware"})
"""Arguments of an API server: a headless worker stops when it is told to, and refuses a count."""


class ServeArgs(BaseModel):
    """The whole command line of one server."""

    model_config = _FROZEN

    model: str
    """Model id or path, as the pod sees it."""
    served_model_name: str
    """Name that clients use."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Port of the API server."""
    revision: str | None = None
    """Commit of the model repository."""
    engine: EngineArgs = EngineArgs()
    """Engine flags, all decided."""
    shutdown_timeout: int | None = Field(default=None, ge=0)
    """Seconds that running requests get after SIGTERM; vLLM's default 0 aborts them."""
    api_server_count: int | None = Field(default=None, ge=1)
    """API server processes; several lose unfinished requests at a stop, and one for each data-parallel rank is vLLM's default."""
    middleware: tuple[str, ...] = ()
    """Classes of ours that the API server loads, before a person's own: the last one named is the outermost."""
    group: Group | None = None
    """The replica's pods, where it has several."""
    extra: tuple[str, ...] = ()
    """Further arguments as given by the user, last on the line."""

    def to_argv(self, *, worker: bool = False) -> tuple[str, ...]:
        """Arguments of ``vllm serve``, model first, flags in the order of the fields, user's extras last."""
        left_out = _OF_REQUESTS if worker and self.group and self.group.headless else frozenset()
        argv = [self.model, *words("served_model_name", self.served_model_name), *words("port", self.port)]
        argv += words("revision", self.revision)
        own = {"shutdown_timeout": self.shutdown_timeout, "api_server_count": self.api_server_count, "middleware": self.middleware}
        for name, value in (*own.items(), *self.engine.stated().items()):
            argv += [] if name in left_out else words(name, value)
        argv += self.group.words(worker=worker) if self.group else []
        return (*argv, *self.extra)
