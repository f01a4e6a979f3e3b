"""Evaluators: policies and values from outside compiled code, in batches."""
