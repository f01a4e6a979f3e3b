"""The tables and figures of both papers: read, run, judged and reported."""
