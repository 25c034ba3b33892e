"""In front of the engine: who may ask, how much, in which order, and what was used. Pure decisions, and thin ASGI classes around them.

Each class works alone; together they share one ticket per request. From the outermost: account, keys, limits, governor, priority.
"""
