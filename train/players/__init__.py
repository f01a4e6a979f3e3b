"""Everybody who can play: specs, keys, and engines of others."""
