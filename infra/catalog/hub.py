"""Variables that say where the engine's files come from and with which token; the runtime, which reads no catalogue, names the same."""

TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH")
"""What the hub's client takes a token from."""

ELSEWHERE = ("VLLM_USE_MODELSCOPE",)
"""Switches with which the model comes from another hub, which asks for no token of this one."""

ENDPOINT = "HF_ENDPOINT"
"""The hub's address: a mirror may hand a gated model out without a token."""

PUBLIC = "https://huggingface.co"
"""The address where nothing is stated."""
