"""The references: examples run, everything public is described, and commands on any page exist."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import broadleaf as bl
from broadleaf.cli import broadleaf, command
from broadleaf.mpi import Mpi, compiling_mpis, launch_command
from pages import DOCS, ROOT, titled


def test_python_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(
        str(DOCS / "reference" / "python.md"),
        module_relative=False,
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert done.attempted > 10
    assert done.failed == 0


@pytest.mark.parametrize("mpi", list(compiling_mpis().values()), ids=lambda mpi: mpi.flavour)
def test_c_example(mpi: Mpi, tmp_path: Path) -> None:
    source, program = tmp_path / "weights.c", tmp_path / "weights"
    source.write_text(titled("reference/c.md", "weights.c"))
    assert mpi.mpicc is not None
    library = mpi.runtime
    command: list[str | Path] = [
        mpi.mpicc,
        source,
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{library.parent}",
        "-o",
        program,
    ]
    name = library.stem.removeprefix("lib")
    command += [f"-L{library.parent}", f"-l{name}", f"-Wl,-rpath,{library.parent}"]
    subprocess.run(command, check=True)
    argv, environment = launch_command(mpi, 3, [str(program)])
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}: 0 wrong" for rank in range(3)]


def test_everything_public_is_described() -> None:
    silent = []
    for name in bl.__all__:
        thing = getattr(bl, name)
        if not name.startswith("__") and not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            silent += [
                f"{name}.{member}"
                for member in vars(thing)
                if not member.startswith("_") and not inspect.getdoc(getattr(thing, member))
            ]
    assert silent == []


@pytest.mark.parametrize("page", sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")))
def test_commands_on_the_pages_exist_with_their_options(page: str) -> None:
    text = (DOCS / page).read_text().replace("\\\n", " ")
    for line in re.findall(r"^\s*broadleaf ([a-z].*?)\s*$", text, re.MULTILINE):
        words = line.split(" -- ")[0].split("#")[0].split()
        # A group's own help has none of its commands' options.
        named = words[:2] if isinstance(command(words[0]), click.Group) else words[:1]
        help_text = CliRunner().invoke(broadleaf, [*named, "--help"]).output
        assert "Usage:" in help_text, f"{page}: broadleaf {words[0]}"
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"{re.escape(option)}\b", help_text), f"{page}: {words[0]} has no {option}"
