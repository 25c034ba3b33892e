"""Activation memory of vLLM's profile run without a GPU: python -m tools.oracle.activation FOLDER OUT MODEL ... writes OUT/MODEL.jsonl.

Runs inside an environment with vLLM, like worker.py. vLLM's model on the meta device runs the forward pass of a full batch without
attention metadata, as the profile run does, and the multimodal encoder on its largest items; `lifetimes` follows what is live.
"""

import gc
import json
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tools.oracle import fake_gpu

fake_gpu.install()
warnings.simplefilter("ignore")

import torch  # noqa: E402

from tools.oracle import lifetimes  # noqa: E402

# Before vLLM is imported: its modules register their operations while they are imported.
lifetimes.remember_custom_ops()
lifetimes.no_kernels()

import vllm  # noqa: E402
from vllm.config import set_current_vllm_config  # noqa: E402
from vllm.forward_context import set_forward_context  # noqa: E402
from vllm.model_executor.model_loader.utils import process_weights_after_loading  # noqa: E402

from tools.oracle import catalog, encoders, ranks, standins  # noqa: E402
from tools.oracle.worker import in_fork, sweep  # noqa: E402

TOKENS = (2048, 8192, 16384)
SHOWN = 8192  # the batch whose live tensors are listed
LISTED, SMALLEST = 8, 0.02
# The default kernels of these are compiled on the spot for a real card; the experts' workspace is as large with others.
BACKENDS = {"deepseek-v4-flash": {"moe_backend": "marlin", "kv_cache_dtype": "fp8"}}
SEQUENCES, LONGEST = 256, 32768


class Profile:
    """One rank's profile run under a tracker."""

    def __init__(self, rank: ranks.Rank) -> None:
        self.config, self.model = rank.config, rank.model
        self.model_config = self.config.model_config
        self.track = lifetimes.Lifetimes(standins.OnMeta)
        standins.worker(self.config)
        with set_current_vllm_config(self.config), torch.no_grad(), torch.device("meta"), standins.OnMeta(), self.track:
            process_weights_after_loading(self.model, self.model_config, torch.device("meta"))
            for module in self.model.modules():
                if hasattr(module, "finalize_mhc_broadcast_weights"):  # the end of DeepSeek-V4's own loading
                    module.finalize_mhc_broadcast_weights()

    @contextmanager
    def running(self, tokens: int | None) -> Iterator[None]:
        with (
            set_current_vllm_config(self.config),
            torch.no_grad(),  # inference mode would keep compound operations whole, and what is inside them unseen
            standins.OnMeta(),
            set_forward_context(None, self.config, num_tokens=tokens),
            self.track.counting(),
        ):
            gc.enable()  # a fork of the worker's leaves it off; what only a cycle holds would seem to live
            yield

    def forward(self) -> dict[str, Any]:
        """One pass of a full batch; inputs are buffers that the runner has from the start."""
        tokens = self.config.scheduler_config.max_num_batched_tokens
        shape = (3, tokens) if self.model_config.uses_mrope else (tokens,)
        inputs: dict[str, Any] = {
            "input_ids": torch.zeros(tokens, dtype=torch.int32, device="meta"),
            "positions": torch.zeros(shape, dtype=torch.int64, device="meta"),
        }
        if self.model_config.is_multimodal_model:
            inputs["inputs_embeds"] = torch.empty(tokens, self.model_config.get_hidden_size(), dtype=self.model_config.dtype, device="meta")
            if not getattr(self.model, "requires_raw_input_tokens", False):
                inputs["input_ids"] = None
        with self.running(tokens):
            output = self.model(**inputs, intermediate_tensors=None)
        return self.found(output)

    def encode(self, processor: dict[str, Any]) -> dict[str, Any] | None:
        """The encoder on its largest items; None where there is no tower (or none whose items are known)."""
        item = encoders.largest(self.model_config.hf_config, self.model_config.dtype, processor, self.model_config.max_model_len)
        if item is None:
            return None
        items = encoders.items_of(item, self.config.scheduler_config.max_num_batched_tokens)
        with self.running(None):
            output = self.model.embed_multimodal(**item.build(items))
        return {"modality": item.modality, "item_tokens": item.tokens, "item_patches": item.patches, "items": items} | self.found(output)

    def found(self, output: Any) -> dict[str, Any]:
        leaves = [t for t in torch.utils._pytree.tree_leaves(output) if isinstance(t, torch.Tensor)]
        held = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in leaves}
        return {
            "peak_bytes": self.track.peak,
            "kept_bytes": self.track.current - sum(held.values()),
            "output_bytes": sum(held.values()),
            "hidden": sorted(self.track.hidden),
        }

    def listed(self) -> list[str]:
        """What was live at the peak: MiB, shape, dtype, operation and line of vLLM, the largest first."""
        largest = sorted(self.track.at_peak, key=lambda held: -held.size)[:LISTED]
        shown = [held for held in largest if held.size >= SMALLEST * self.track.peak]
        return [f"{h.size / 2**20:.2f} {list(h.shape)} {h.dtype} {h.op.rsplit('.', 1)[0].split('.')[-1]} {h.line}" for h in shown]


class Asker:
    """Answers the questions about one model into one file."""

    def __init__(self, folder: Path, out: Path, model: catalog.Model) -> None:
        self.folder, self.out, self.model = folder, out, model

    def ask(self, kind: str, tokens: int, tp: int) -> None:
        # The forward pass is compiled in production and the encoder is not; a compiled pass cannot be followed.
        eager = kind == "forward"
        arguments = {"max_num_batched_tokens": tokens, "max_num_seqs": SEQUENCES, "max_model_len": min(LONGEST, self.model.lengths[1])}
        stated: dict[str, Any] = arguments | ({"tensor_parallel_size": tp} if tp > 1 else {}) | {"enforce_eager": eager}
        stated |= BACKENDS.get(self.model.name, {})
        line: dict[str, Any] = {"vllm": vllm.__version__, "kind": kind, "model": self.model.name, "args": arguments, "tp": tp}
        try:
            profile = Profile(ranks.build(ranks.engine_args(self.folder / self.model.name, self.model.arguments, stated), 0))
            found = profile.forward() if eager else profile.encode(self.model.processor)
        except Exception:
            traceback.print_exc()  # no line is no answer
            return
        if found is not None:
            self.emit(line | found | ({"at_peak": profile.listed()} if tokens == SHOWN else {}))

    def emit(self, line: dict[str, Any]) -> None:
        with self.out.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(line, separators=(",", ":")) + "\n")

    def questions(self) -> list[tuple[str, int, int]]:
        text = self.model.config.get("text_config", self.model.config)
        largest = max((tp for tp in self.model.tp if text.get("num_attention_heads", 8) % tp == 0), default=1)
        asked = [("forward", SHOWN, tp) for tp in sorted({1, min(2, largest), largest})]
        asked += [("forward", tokens, largest) for tokens in TOKENS if tokens != SHOWN]
        if "vision_config" in self.model.config:
            asked += [("encoder", SHOWN, 1), ("encoder", SHOWN, 2), ("encoder", TOKENS[-1], 1)]
        return asked


def main(folder: Path, out: Path, names: list[str]) -> None:
    def ask(model: catalog.Model, part: Path) -> str:
        asker = Asker(folder, part, model)
        asked = asker.questions()
        for i, question in enumerate(asked):
            in_fork(partial(asker.ask, *question), preload=i == 0)
        return f"{len(asked)} profile runs"

    ranks.patch()
    standins.install()
    sweep(folder, out, names, ask)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
