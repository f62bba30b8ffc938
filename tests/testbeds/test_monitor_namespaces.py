"""The advisor's monitor over real TCP: links that no program uses, its share of them, hosts that are gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import broadleaf as bl
from beds import ROOT, can_make_namespaces, prefix, script, triangle

BED = ROOT / "testbeds/namespaces"
# Slow enough that the processor hardly matters.
FAST = 5e6
SLOW = FAST / 10
PERIOD_S = 15.0
SHARE = 0.4
# Two periods, and starting and ending three ranks as often, on a machine that may be busy.
PATIENCE_S = 300.0
# What starting ranks sends, for each sweep, and headers.
START_BYTES = 1 << 20
HEADERS = 1.1
REACH = "the monitor cannot reach b;"

pytestmark = [
    pytest.mark.skipif(not can_make_namespaces(), reason="network namespaces need root and iproute2"),
    pytest.mark.skipif(
        "BROADLEAF_SOAK" not in os.environ, reason="wants a machine of its own; run by make soak"
    ),
]


def wait_for(what: str, found: Callable[[], Any], advisor: subprocess.Popen[str]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        seen = found()
        if seen:
            return seen
        assert advisor.poll() is None, f"the advisor has ended before {what}"
        assert time.monotonic() < deadline, f"no {what} in {PATIENCE_S} s"
        time.sleep(0.1)


def sent_bytes(namespace: str) -> int:
    shown = subprocess.run(
        ["ip", "-n", namespace, "-s", "-j", "link", "show", "e0"], capture_output=True, text=True, check=True
    )
    return int(json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"])


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_it_sees_loads_and_their_ends_and_hosts_that_are_gone(flavour: str, tmp_path: Path) -> None:
    network, launch = script(BED / "network.py"), script(BED / "launch.py")
    platform, state = triangle(tmp_path, FAST), tmp_path / "advice"
    (tmp_path / "hosts").write_text("r\na\nb\n")
    said = tmp_path / "said"
    rates = network.rates_of(bl.Platform.load(platform))

    def advice() -> dict[str, Any]:
        """The prepared plan for 1 MiB."""
        for path in (state / "plans").glob("*-0000000000000000-0-20.json"):
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        return {}

    def used() -> list[str]:
        served: list[str] = advice()["plan"]["trees"][0]["children"]["r"]
        return served

    with network.Network(f"blmon{os.getpid()}", rates) as bed, said.open("w") as lines:
        agent = launch.write_agent(bed, tmp_path)
        # As ssh, of which the namespaces have none; all else is as a user starts it.
        environment = {**os.environ, **launch.MPICH_ENVIRONMENT, **launch.OPENMPI_ENVIRONMENT}
        environment |= {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(agent), "HYDRA_IFACE": "e0"}
        environment |= {"PRTE_MCA_plm_ssh_agent": str(agent), "PRTE_MCA_prte_if_include": "e0"}
        environment |= {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}
        environment |= {"OMPI_MCA_btl_tcp_if_include": "e0", "TMPDIR": str(tmp_path)}
        argv = ["ip", "netns", "exec", bed.namespace("r"), "unshare", "--uts", "/bin/sh", "-c"]
        argv += ['hostname "$0"; exec "$@"', "r", sys.executable, "-m", "broadleaf", "advise"]
        argv += ["--state", str(state), "--platform", str(platform), "--hosts", str(tmp_path / "hosts")]
        argv += ["--every", str(PERIOD_S), "--share", str(SHARE), "--mpi", flavour]
        argv += ["--mpiexec", str(prefix(flavour) / "bin/mpiexec")]
        began_s = time.monotonic()
        with subprocess.Popen(argv, env=environment, stderr=lines, text=True) as advisor:
            try:
                wait_for("plan", advice, advisor)
                (first,) = used()
                bed.set_pair_rate("r", first, SLOW)
                wait_for("plan round the load", lambda: first not in used(), advisor)
                (drift,) = [link for link in advice()["believed"] if link["from"] == "r"]
                assert drift["to"] == first
                assert drift["rate"] == pytest.approx(SLOW / FAST, rel=0.3)
                # No plan uses that link now, and with the load on the other one it is the only way out.
                (other,) = used()
                bed.set_pair_rate("r", first, FAST)
                bed.set_pair_rate("r", other, SLOW)
                wait_for("plan back", lambda: used() == [first], advisor)
                elapsed_s = time.monotonic() - began_s
                sweeps = 1 + elapsed_s / PERIOD_S
                most = HEADERS * FAST * SHARE * (elapsed_s + PERIOD_S) + sweeps * START_BYTES
                for host in "rab":
                    assert sent_bytes(bed.namespace(host)) <= most, host
                # A busy machine may take too long over one measurement, which is reported; no host was
                # missed.
                assert "cannot reach" not in said.read_text()
                subprocess.run(["ip", "-n", bed.namespace("b"), "link", "set", "e0", "down"], check=True)
                wait_for("line of the host that is gone", lambda: REACH in said.read_text(), advisor)
            finally:
                advisor.terminate()
                advisor.wait(timeout=60)
        assert advisor.returncode == 0
