"""Results of experiments: their files, their analysis, and verdicts on claims."""
