"""Paper 4: fast tuning of intra-cluster collectives."""
