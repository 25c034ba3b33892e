"""Recurrent layers as tensors: gated delta net, Mamba-1, Mamba-2, Kimi delta attention (vLLM: ``layers/mamba``)."""

from interlock.infra.sizing.model.config import ceil_div, integer, truth
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.layer_plan import state_of
from interlock.infra.sizing.model.layers import State, StateKind
from interlock.infra.sizing.weights.ledger import Ledger


def recurrent(ledger: Ledger, facts: ModelFacts, mixer: str, index: int) -> None:
    """The mixer of one recurrent layer."""
    state = state_of(facts.text, mixer)
    if state is None:
        return
    module = f"model.layers.{index}.linear_attn"
    match state.kind:
        case StateKind.GDN:
            _gated_delta_net(ledger, facts, state, module)
        case StateKind.KDA:
            _delta_attention(ledger, facts, state, module)
        case StateKind.MAMBA2:
            _mamba2(ledger, facts, state, module)
        case StateKind.MAMBA1:
            _mamba1(ledger, facts, state, module)
        case StateKind.SHORT_CONV:
            _short_convolution(ledger, facts, state, module)


def _gated_delta_net(ledger: Ledger, facts: ModelFacts, state: State, module: str) -> None:
    hidden, tp = facts.hidden_size, ledger.shard.tp
    keys, values = state.key_heads * state.state, state.heads * state.head_dim
    ledger.add((2 * keys + values) // tp * state.conv_kernel)
    interleaved = facts.family.recurrent == "interleaved"
    ledger.column(f"{module}.in_proj_qkvz", hidden, 2 * (keys + values) if interleaved else [keys, keys, values, values])
    ledger.column(f"{module}.in_proj_ba", hidden, 2 * state.heads if interleaved else [state.heads, state.heads])
    ledger.add(state.heads // tp)
    ledger.add(state.heads // tp, 4)
    ledger.add(state.head_dim)
    ledger.row(f"{module}.out_proj", values, hidden)


def _short_convolution(ledger: Ledger, facts: ModelFacts, state: State, module: str) -> None:
    """LFM2 (vLLM: ``layers/mamba/short_conv.py``)."""
    width, bias = state.heads, truth(facts.text, "conv_bias")
    ledger.add(width // ledger.shard.tp * (state.conv_kernel + (1 if bias else 0)))
    ledger.column(f"{module}.in_proj", facts.hidden_size, [width, width, width], bias=bias)
    ledger.row(f"{module}.out_proj", width, facts.hidden_size, bias=bias)


def _mamba2(ledger: Ledger, facts: ModelFacts, state: State, module: str) -> None:
    config, hidden, tp = facts.text, facts.hidden_size, ledger.shard.tp
    inner = state.heads * state.head_dim
    groups = (state.key_heads if state.key_heads % tp == 0 else tp) * state.state
    convolution = (inner + 2 * groups) // tp
    bias = truth(config, "use_bias") or truth(config, "mamba_proj_bias")
    ledger.add(convolution * state.conv_kernel)
    if truth(config, "use_conv_bias", default=truth(config, "mamba_conv_bias", default=True)):
        ledger.add(convolution)
    ledger.column(f"{module}.in_proj", hidden, [inner, inner, groups, groups, state.heads], bias=bias)
    ledger.add(state.heads // tp, 4)
    ledger.add(2 * (state.heads // tp))
    ledger.row(f"{module}.out_proj", inner, hidden, bias=bias)
    if truth(config, "mamba_rms_norm", default=True):
        ledger.add(inner // tp)


def _mamba1(ledger: Ledger, facts: ModelFacts, state: State, module: str) -> None:
    config, hidden, tp = facts.text, facts.hidden_size, ledger.shard.tp
    inner, rank = state.heads, integer(config, "mamba_dt_rank", "time_step_rank") or ceil_div(facts.hidden_size, 16)
    bias = truth(config, "mamba_proj_bias") or truth(config, "use_bias")
    ledger.add(inner // tp * state.conv_kernel)
    if truth(config, "mamba_conv_bias", default=truth(config, "use_conv_bias", default=True)):
        ledger.add(inner // tp)
    ledger.add(hidden * 2 * (inner // tp) + (2 * (inner // tp) if bias else 0))
    ledger.add(inner // tp * (rank + 2 * state.state))
    ledger.add(rank * (inner // tp) + inner // tp)
    ledger.add(inner // tp * state.state, 4)
    ledger.add(inner // tp)
    ledger.add(inner // tp * hidden + (hidden if bias else 0))
    if facts.family.mixer_norms:
        ledger.add(rank + 2 * state.state)


def _delta_attention(ledger: Ledger, facts: ModelFacts, state: State, module: str) -> None:
    hidden, tp, inner = facts.hidden_size, ledger.shard.tp, state.heads * state.head_dim
    for name in ("q_proj", "k_proj", "v_proj"):
        ledger.column(f"{module}.{name}", hidden, inner)
    ledger.linear(f"{module}.f_a_proj", hidden, state.head_dim)
    ledger.column(f"{module}.f_b_proj", state.head_dim, inner)
    ledger.add(inner // tp, 4)
    ledger.column(f"{module}.b_proj", hidden, state.heads)
    ledger.add(3 * (inner // tp) * state.conv_kernel, 4)
    ledger.add(state.heads // tp, 4)
    ledger.linear(f"{module}.g_a_proj", hidden, state.head_dim)
    ledger.column(f"{module}.g_b_proj", state.head_dim, inner)
    ledger.add(state.head_dim)
    ledger.row(f"{module}.o_proj", inner, hidden)
