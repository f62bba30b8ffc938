"""Paper 3: adaptive broadcast trees by simulated annealing."""
