"""Paper 2's figure 6 against its figure 5: where measured and predicted times differ, and what is left of it
without latency between sites.

In SimGrid's network a message uses a port once its latency is over, in the model at once. So a port with far
and near receivers idles in the former. Every broadcast that is more than APART off is run again on the same
platform without latencies between sites.

    benches/grid_latency.py [KIB …]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import broadleaf as bl
from broadleaf import smpi
from broadleaf.formats.simgrid import write_simgrid
from broadleaf.papers.grid.simulated import (
    NETWORKS,
    PROGRAM,
    SEGMENTED,
    WHOLE,
    Bed,
    Network,
    Sample,
    Task,
    Work,
)

SIZES_KIB = (64, 256, 1024, 4096)
# Measured over predicted, less 1.
APART = 0.05
# Latencies between sites are longer, s: the paper's table 3 has 27 to 242 us inside sites, and 5 ms or more
# between them.
BETWEEN_SITES_S = 1e-3


def without_latency(platform: bl.Platform) -> bl.Platform:
    document = json.loads(json.dumps(platform.to_dict()))
    for group in [*document.get("meshes", ()), *document.get("bridges", ())]:
        if group["link"]["latency_s"] > BETWEEN_SITES_S:
            group["link"]["latency_s"] = 0.0
    return bl.Platform.from_dict(document)


def sampled(
    platform: bl.Platform, network: Network, program: Path, strategy: str, sizes: tuple[int, ...]
) -> list[Sample]:
    """From the first host, predicted and measured, by `paper grid`'s code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        platform.save(folder / "platform.json")
        bed = Bed(program, folder / "platform.json", *write_simgrid(platform, folder))
        work = Work(quick=False, missing=None)
        return work.samples(platform, network, Task(strategy, platform.hosts[0], sizes), bed, folder)


def ratio(sample: Sample) -> float:
    assert sample.settled_s is not None
    assert sample.predicted_s is not None
    return sample.settled_s / sample.predicted_s


def main() -> int:
    sizes = tuple(int(text) << 10 for text in sys.argv[1:]) or tuple(kib << 10 for kib in SIZES_KIB)
    with tempfile.TemporaryDirectory() as name:
        program = smpi.planned_program(PROGRAM, Path(name) / "bcast")
        print("platform, strategy, KiB: measured / predicted; without latency between sites")
        for network in NETWORKS:
            platform = bl.Platform.load(network.file)
            near = 0
            for strategy in (*WHOLE, *SEGMENTED):
                found = sampled(platform, network, program, strategy, sizes)
                apart = [sample for sample in found if abs(ratio(sample) - 1) > APART]
                near += len(found) - len(apart)
                for sample in apart:
                    still = sampled(
                        without_latency(platform), network, program, strategy, (sample.message_bytes,)
                    )
                    where = f"{network.name}, {strategy}, {sample.message_bytes >> 10}"
                    print(f"{where}: {ratio(sample):.3f}; {ratio(still[0]):.3f}", flush=True)
            print(f"{network.name}: {near} others within {100 * APART:.0f} %", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
