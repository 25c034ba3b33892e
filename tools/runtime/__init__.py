"""The runtime's archive, an engine that pretends, and clients that count."""
