"""Variables that say where the engine's files come from and with which token; the runtime, which reads no catalogue, names the same."""

TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Variables that hold the token which the hub's client sends."""

TOKEN_FILE = "HF_TOKEN_PATH"
"""The variable that names a file with it."""

ELSEWHERE = ("VLLM_USE_MODELSCOPE",)
"""Switches with which the model comes from another hub, which asks for no token of this one."""

ENDPOINT = "HF_ENDPOINT"
"""The hub's address: a mirror may hand a gated model out without a token."""

PUBLIC = "https://huggingface.co"
"""The address where nothing is stated."""
