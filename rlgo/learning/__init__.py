"""The value function and how it learns: TD errors, self-play, learners with one or several workers."""
