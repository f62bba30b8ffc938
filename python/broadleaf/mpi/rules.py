"""The choices of `bl.tune` as an MPI's own rules file, and the settings that make the MPI read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broadleaf._core import Choice, tuning_rules
from broadleaf.mpi.find import Flavour, Mpi, MpiNotFoundError, find_mpi

# MPICH maps the file into memory and reads up to a zero byte. The rest of the last page is zero; a file
# that fills its last page has no zero byte.
PAGE_BYTES = 4096


@dataclass(frozen=True)
class RulesFile:
    """A rules file before it is written."""

    text: str
    # One for each line of the file: collective, nodes, from_bytes, algorithm, segment_bytes, worst_ratio.
    rules: list[dict[str, Any]]


def rules_file(choices: Sequence[Choice], flavour: Flavour) -> RulesFile:
    """A whole rules file. For MPICH an installation must be present, for its rules of the other
    collectives: the file replaces all rules, and a collective without rules ends the program."""
    text, rules = tuning_rules(choices, flavour)
    if flavour == "mpich":
        tuned = json.loads(text)
        whole = own_selection(find_mpi("mpich"))
        for collective, selection in tuned.items():
            # Between groups (intercommunicators) MPICH's own choice stands.
            whole[collective] = {**whole[collective], **selection}
        text = json.dumps(whole, indent=1) + "\n"
        if len(text.encode()) % PAGE_BYTES == 0:
            text += "\n"
    return RulesFile(text, rules)


def settings(flavour: Flavour, path: str) -> dict[str, str]:
    """The environment variables that make the MPI read the file."""
    whole = str(Path(path).resolve())
    if flavour == "openmpi":
        return {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": whole,
            # The rules are of the component `tuned`; where ranks share hosts, `han` would take precedence.
            "OMPI_MCA_coll_han_priority": "0",
        }
    return {
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": whole,
        # Otherwise the device's own broadcast and scatter, through shared memory, precede the rules.
        "MPIR_CVAR_BCAST_DEVICE_COLLECTIVE": "0",
        "MPIR_CVAR_SCATTER_DEVICE_COLLECTIVE": "0",
    }


def own_selection(mpi: Mpi) -> dict[str, Any]:
    """The rules that this MPICH was built with, which it carries as JSON in its library."""
    libraries = sorted(mpi.library_dir.glob("libmpi*.so*")) if mpi.library_dir else []
    for library in libraries:
        if library.is_file() and not library.is_symlink():
            for document in selections_in(library.read_bytes()):
                return document
    raise MpiNotFoundError(
        f"no rules in the library of {mpi.mpiexec}; name an MPICH of 4.0 or later with BROADLEAF_MPIEXEC"
    )


def selections_in(library: bytes) -> list[dict[str, Any]]:
    """The JSON documents in a library that hold MPICH's rules for all collectives, device-independent."""
    found = []
    mark = b'"collective=bcast"'
    at = library.find(mark)
    while at >= 0:
        start, end = library.rfind(b"\0", 0, at) + 1, library.find(b"\0", at)
        try:
            document = json.loads(library[start:end])
        except ValueError:
            document = None
        # The device's own documents name algorithms of its own, and only a few collectives.
        if isinstance(document, dict) and "collective=ibarrier" in document and "MPIR_" in str(document):
            found.append(document)
        at = library.find(mark, at + 1)
    return found
