"""Paper 2: scheduling heuristics for broadcasts on grids."""
