"""One network in several descriptions: the plans take the same time under SMPI."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import broadleaf as bl
from beds import ROOT, script
from broadleaf.benchmarks import OURS
from broadleaf.benchmarks.smpi import Bed, simulated
from broadleaf.formats.simgrid import load_simgrid, write_simgrid

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None,
    reason="SimGrid is not installed (Debian: apt-get install libsimgrid-dev)",
)
# The bound of benches/descriptions.py.
WITHIN = 1.03


def test_matrices_and_multi_port_xml_lose_no_time(program: Path, tmp_path: Path) -> None:
    """Matrices lack the sites' access pipes; with the XML, a host's near transfers hold up its far ones."""
    own = bl.Platform.load(ROOT / "platforms/teragrid-64.json")
    xml, hosts = write_simgrid(own, tmp_path)
    bed = Bed(program, program, xml, hosts)
    descriptions = {
        "own file": own,
        "matrices": script(ROOT / "benches/descriptions.py").matrices(own),
        "XML, multi-port": load_simgrid(xml, hosts, "multi-port"),
    }
    took_s = {}
    for what, platform in descriptions.items():
        platform.save(tmp_path / "described.json")
        (took_s[what],) = simulated(bed, OURS, 1 << 20, tmp_path / "described.json", 300.0)
    assert max(took_s.values()) <= WITHIN * min(took_s.values()), took_s


def test_matrices_of_a_fat_tree_lose_no_time(program: Path, tmp_path: Path) -> None:
    """Its switches have uplinks for more than a pair, which matrices do not show."""
    network = script(ROOT / "benches/smpi_beds.py").NETWORKS["fat-tree-64"](tmp_path)
    own = bl.Platform.load(network.platform)
    bed = Bed(program, program, network.xml, network.hosts)
    took_s = {}
    for what in ("own file", "matrices"):
        platform = own if what == "own file" else script(ROOT / "benches/descriptions.py").matrices(own)
        platform.save(tmp_path / "described.json")
        (took_s[what],) = simulated(bed, OURS, 64 << 10, tmp_path / "described.json", 300.0)
    assert took_s["matrices"] <= WITHIN * took_s["own file"], took_s


def test_links_that_name_no_clusters_lose_no_time(program: Path, tmp_path: Path) -> None:
    """Planners between clusters group the hosts by latency where the file does not."""
    network = script(ROOT / "benches/smpi_beds.py").random_grid(20261121, tmp_path)
    own = bl.Platform.load(network.platform)
    bed = Bed(program, program, network.xml, network.hosts)
    pairwise = script(ROOT / "benches/descriptions.py").pairwise
    took_s = {}
    for with_clusters in (True, False):
        pairwise(own, with_clusters=with_clusters).save(tmp_path / "described.json")
        (took_s[with_clusters],) = simulated(bed, OURS, 1 << 20, tmp_path / "described.json", 300.0)
    assert took_s[False] <= WITHIN * took_s[True], took_s
