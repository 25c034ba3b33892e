"""A model's config.json as facts: names, layers, quantization, context. Data only; nothing here counts bytes of a GPU."""
