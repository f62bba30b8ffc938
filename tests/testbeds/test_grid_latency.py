"""The platform on which `benches/grid_latency.py` repeats what differs from its prediction."""

from __future__ import annotations

import broadleaf as bl
from beds import ROOT, script


def latencies_s(platform: bl.Platform) -> set[float]:
    document = platform.to_dict()
    return {group["link"]["latency_s"] for part in ("meshes", "bridges") for group in document[part]}


def test_latencies_inside_sites_stay() -> None:
    benches = script(ROOT / "benches/grid_latency.py")
    platform = bl.Platform.load(ROOT / "platforms/grid5000-88.json")
    inside = {latency_s for latency_s in latencies_s(platform) if latency_s < 1e-3}
    assert latencies_s(benches.without_latency(platform)) == {0.0, *inside}
    assert max(inside) == 242.47e-6
