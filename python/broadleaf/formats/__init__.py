"""File formats of others: SimGrid, GraphML, MSCCL, Perfetto, NetworkX and CSV; one writer each."""
