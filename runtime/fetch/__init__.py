"""Where weights are fetched from: hubs and buckets, with the standard library only."""
