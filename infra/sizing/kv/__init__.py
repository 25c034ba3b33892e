"""Pages, groups and blocks of the KV cache, as vLLM lays them out."""
