"""Traces as pandas frames. pandas is not installed with the package: only this needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from broadleaf._core import Trace

if TYPE_CHECKING:
    import pandas as pd


def transfers_frame(trace: Trace) -> pd.DataFrame:
    """A row a transfer, as in `Trace.transfers`, with the nodes' ids."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError("a frame of the transfers needs pandas; pip install pandas") from None
    table = trace.transfers
    frame = pd.DataFrame({name: table[name] for name in table.dtype.names})
    nodes = np.array(trace.nodes, dtype=object)
    for end in ("from", "to"):
        frame[end] = nodes[table[end]]
    return frame
