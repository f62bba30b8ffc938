"""Foreign file formats: SimGrid, GraphML, MSCCL, Perfetto, NetworkX and CSV, with one writer each."""
