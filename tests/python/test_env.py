"""`broadleaf env`: evaluated by a shell and by Tcl, as job scripts and modules do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from broadleaf.mpi import find_mpi
from broadleaf.mpi.exports import Exports, exports, tcl
from broadleaf.mpi.find import RUNTIMES
from documents import write
from outcome import Command, refused

ODD = 'it\'s $HOME; `date` "[exit]" {\\}'
RUNTIME = {
    mpi: str(RUNTIMES / f"libbroadleaf_mpi_{abi}.so")
    for mpi, abi in (("openmpi", "ompi"), ("mpich", "mpich"), ("abi", "abi"))
}


def in_shell(exports: str, **variables: str) -> dict[str, str]:
    """The environment of a program that the script starts."""
    script = f"{exports}\nexec env -0"
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        check=True,
    )
    pairs = (entry.decode().partition("=") for entry in done.stdout.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def test_a_shell_evaluates_it(command: Command, chain: dict[str, Any]) -> None:
    Path(ODD).mkdir()
    write(f"{ODD}/net.json", chain)
    text = command("env", "--mpi", "mpich", "--platform", f"{ODD}/net.json").out
    seen = in_shell(text)
    assert seen["BROADLEAF_PLATFORM"] == str(Path(ODD, "net.json").resolve())
    assert seen["LD_PRELOAD"] == RUNTIME["mpich"]
    tool = str(Path(shutil.copy(RUNTIME["abi"], "libtool.so")).resolve())
    assert in_shell(text, LD_PRELOAD=tool)["LD_PRELOAD"] == f"{RUNTIME['mpich']}:{tool}"


@pytest.mark.parametrize("mpi", RUNTIME)
def test_each_mpi_has_its_runtime(mpi: str, command: Command) -> None:
    assert command("env", "--mpi", mpi, "--json").document == {"variables": {}, "preload": RUNTIME[mpi]}


def test_all_runtimes_at_once(command: Command) -> None:
    assert command("env", "--mpi", "all", "--json").document["preload"] == ":".join(RUNTIME.values())
    assert in_shell(command("env", "--mpi", "all").out)["LD_PRELOAD"] == ":".join(RUNTIME.values())


def test_the_runtime_is_that_of_the_mpi_that_run_would_start(command: Command) -> None:
    assert command("env", "--json").document["preload"] == str(find_mpi().runtime)


# The part of Environment Modules that the file uses.
MODULES = """
proc module-whatis {text} {}
proc conflict {name} {}
proc setenv {name value} {puts "$name=$value"}
proc prepend-path {name value} {
    global paths
    if {[info exists paths($name)]} {set paths($name) "$value:$paths($name)"} else {set paths($name) $value}
}
source modulefile
foreach name [array names paths] {puts "$name=$paths($name)"}
"""


def test_tcl_evaluates_the_modulefile(command: Command, chain: dict[str, Any]) -> None:
    Path(ODD).mkdir()
    write(f"{ODD}/net.json", chain)
    text = command("env", "--mpi", "abi", "--module", "--platform", f"{ODD}/net.json").out
    # Modules recognise the file by its first bytes.
    assert text.startswith("#%Module")
    Path("modulefile").write_text(text)
    if shutil.which("tclsh") is None:
        assert f"setenv BROADLEAF_PLATFORM {tcl(str(Path(ODD, 'net.json').resolve()))}\n" in text
        return
    done = subprocess.run(["tclsh"], input=MODULES, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"BROADLEAF_PLATFORM={Path(ODD, 'net.json').resolve()}",
        f"LD_PRELOAD={RUNTIME['abi']}",
    ]


def test_a_word_of_tcl() -> None:
    assert tcl("a b") == '"a b"'
    assert Exports({"A": "[exit]"}, "").modulefile()[-2] == 'setenv A "\\[exit\\]"'


def test_refusals(command: Command, monkeypatch: pytest.MonkeyPatch, chain: dict[str, Any]) -> None:
    refused(command("env", "--platform", "absent.json"), "absent.json")
    refused(command("env", "--mpi", "lam"), "lam")
    refused(command("env", "--json", "--module"), "--module and --json")
    Path("a\nb").mkdir()
    write("a\nb/net.json", chain)
    refused(command("env", "--platform", "a\nb/net.json"), "control character")
    with pytest.raises(ValueError, match="cannot be preloaded"):
        exports([Path("/with space/libbroadleaf_mpi_ompi.so")], None)
    monkeypatch.setattr("broadleaf.mpi.find.RUNTIMES", Path("nowhere"))
    refused(command("env"), "no Broadleaf runtime")
