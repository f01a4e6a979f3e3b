"""Foundations that know nothing of Go: errors, settings and their bounds, files, threads, budgets."""
