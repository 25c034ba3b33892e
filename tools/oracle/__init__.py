"""vLLM's own planning answers without a GPU: real CUDA wheels, a pretended card, models on the meta device.

What is pretended: NVML and the driver (eight "NVIDIA H200", compute capability 9.0), the process group (torch's "fake" one, so that
vLLM computes the real shapes of one rank), and the memory that is left for the KV cache, which is an input. What is vLLM's: the
resolved configuration, the constructed model, the choice of attention, the KV specs and groups, block counts, capacity, concurrency
and error texts. Nothing here is a measurement: activation, CUDA graphs and non-torch memory are not in it.
"""
