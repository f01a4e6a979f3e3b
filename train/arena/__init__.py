"""Games that count: referee, pool of processes, matches, tournaments, ratings."""
