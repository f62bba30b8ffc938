"""Recipes for other packagers, tested without their tools: they parse, and agree with the package."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from broadleaf import __version__
from broadleaf.papers import PAPERS

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
DOCKERFILE = PACKAGING / "docker" / "Dockerfile"


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def needed(project: dict[str, Any]) -> set[tuple[str, str]]:
    """The package's requirements at run time: names and oldest versions."""
    return {tuple(text.split(">=")) for text in project["dependencies"]}


def test_every_folder_has_its_line() -> None:
    lines = re.findall(r"^- `([^`]+)`: \w", (PACKAGING / "README.md").read_text(), re.M)
    there = {f"{path.name}/" if path.is_dir() else path.name for path in PACKAGING.iterdir()}
    assert set(lines) == there - {"README.md", "__pycache__/"}


def test_spack(project: dict[str, Any]) -> None:
    text = (PACKAGING / "spack" / "broadleaf" / "package.py").read_text()
    tree = ast.parse(text)
    (package,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    calls = [
        node for node in ast.walk(package) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    named = [
        (call.func.id, call.args[0].value)
        for call in calls
        if isinstance(call.func, ast.Name) and call.args and isinstance(call.args[0], ast.Constant)
    ]
    assert ("version", __version__) in named
    assert ("license", project["license"]) in named
    required = {value for name, value in named if name == "depends_on"}
    assert {f"py-{name}@{version}:" for name, version in needed(project)} <= required
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert f"rust@{rust}:" in required


def test_conda(project: dict[str, Any]) -> None:
    text = (PACKAGING / "conda" / "meta.yaml").read_text()
    # The parts that conda-build fills in before it reads YAML.
    recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "filled", re.sub(r"\{%.*?%\}", "", text)))
    assert f'set version = "{__version__}"' in text
    names = {"matplotlib-base": "matplotlib"}
    run = [entry.split(" >=") for entry in recipe["requirements"]["run"]]
    assert needed(project) | {("python", "3.11")} == {
        (names.get(name, name), version) for name, version in run
    }
    assert recipe["about"]["license"] == project["license"]


def test_images_install_the_wheel_in_the_same_way() -> None:
    docker = DOCKERFILE.read_text()
    apptainer = (PACKAGING / "apptainer" / "broadleaf.def").read_text()
    base = re.search(r"^FROM (\S+)$", docker, re.M)
    assert base is not None
    assert f"\nFrom: {base[1]}\n" in apptainer
    packages = r"apt-get install --yes --no-install-recommends ([a-z -]*[a-z])"
    assert re.findall(packages, docker) == re.findall(packages, apptainer) != []
    sections = re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", apptainer, re.M | re.S)
    assert [name for name, _ in sections] == ["files", "post", "runscript", "test"]
    scripts = [body for name, body in sections if name != "files"]
    scripts += [part.replace("\\\n", "") for part in re.findall(r"^RUN (.*?[^\\])$", docker, re.M | re.S)]
    for script in scripts:
        assert subprocess.run(["sh", "-n"], input=script, text=True).returncode == 0, script


def test_hosted_ci_runs_what_every_machine_runs() -> None:
    workflow = yaml.safe_load((PACKAGING / "hosted-ci" / "workflow.yml").read_text())
    # YAML 1.1 takes `on` for true.
    assert set(workflow) == {"name", True, "jobs"}
    (job,) = workflow["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert ".ci/run" in commands
    assert (ROOT / ".ci" / "run").is_file()
    goals = [command.removeprefix("make ") for command in commands if command.startswith("make ")]
    for goal in goals:
        assert re.search(rf"^{goal}:", (ROOT / "Makefile").read_text(), re.M), goal


def test_citation(project: dict[str, Any]) -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert citation["license"] == project["license"]
    assert citation["authors"] == project["authors"]
    assert len(citation["references"]) == len(PAPERS)
    for paper in citation["references"]:
        assert {"type", "title", "authors"} <= set(paper)
    for paper in PAPERS.values():
        words = paper.title.rpartition(": ")[2].lower().split()[:3]
        assert any(words == cited["title"].lower().split()[:3] for cited in citation["references"]), paper
