"""The work of an experiment: training runs and games; and a forecast of what they decide."""
