"""Paper 1: broadcast trees for heterogeneous platforms."""
