"""Measurements that wait for a card."""
