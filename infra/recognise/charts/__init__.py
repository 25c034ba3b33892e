"""Values of charts as workloads: which templates read which key."""
