"""Paper 5: the pipelined round-robin broadcast."""
