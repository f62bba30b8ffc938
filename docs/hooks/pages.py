"""MkDocs hook: the parts of the site that are generated, so that they cannot differ from what they describe.

A page has `<!-- insert: NAME ARGUMENT -->` where a part goes. Planners and papers have a page each, from
their registries; a planner's picture is drawn from its plan on `docs/small.json`.
"""

from __future__ import annotations

import inspect
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import broadleaf as bl
from broadleaf import cli
from broadleaf.papers import PAPERS
from broadleaf.units import seconds, size

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INSERT = re.compile(r"<!-- insert: (\S+)(?: (.+?))? -->")
# The planners' pictures are of the first of these that they support: platform, root, collective.
MESSAGE_BYTES = 8 << 20
SMALL, SWITCH = ("docs/small.json", "a0"), ("platforms/smp-16.json", "c0-0")
EXAMPLES = (
    (*SMALL, "bcast"),
    (*SWITCH, "bcast"),
    (*SMALL, "allgather"),
    (*SWITCH, "allgather"),
    (*SMALL, "allreduce"),
)
# Where planners are compared on their pages: unequal clusters, thin links between two, one switch.
NETWORKS = ("docs/small.json", "testbeds/namespaces/two-clusters.json", "platforms/smp-16.json")
SIZES = (64 << 10, 8 << 20)
# A planner that takes up to this many times what the fastest takes is as good a choice.
NEAR = 1.1
# What a paper's page opens with.
VERDICT = ("Reproduces", "Does not", "Better here")
# In the order of the documentation.
COLLECTIVES = ("bcast", "scatter", "allgather", "gather", "reduce", "reduce-scatter", "allreduce")
REGISTERED = {"Planners", "Papers"}
# What the compiled core's documentation ends in, since its signatures can have no types.
TYPES = re.compile(r"\n\nTypes?: `([^`]*)`\s*$")


class Standing(NamedTuple):
    """What `best` finds for one broadcast."""

    network: str
    message_bytes: int
    comparison: bl.Comparison


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the registries' pages into the navigation."""
    pages = {
        "Planners": [{card.name: f"planners/{card.name}.md"} for card in bl.planners()],
        "Papers": [{paper.name: f"papers/{paper.name}.md"} for paper in PAPERS.values()],
    }
    for entry in config.nav or []:
        for title, inner in entry.items():
            if title in REGISTERED:
                inner.extend(pages[title])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages and pictures; a hand-written page stays."""
    made: dict[str, str | bytes] = {}
    comparison = bl.compare(bl.Platform.load(ROOT / SMALL[0]), SMALL[1], MESSAGE_BYTES)
    standings = standings_of(NETWORKS)
    for card in bl.planners():
        made[f"planners/{card.name}.svg"], made[f"planners/{card.name}.md"] = planner_page(
            card, comparison, standings
        )
    for paper in PAPERS.values():
        made[f"papers/{paper.name}.md"] = paper_page(paper.name, paper.title)
    made["architecture.md"] = (ROOT / "ARCHITECTURE.md").read_text().replace("](docs/", "](")
    made["changelog.md"] = (ROOT / "CHANGELOG.md").read_text()
    for path, content in made.items():
        if files.get_file_from_path(path) is None:
            files.append(File.generated(config, path, content=content))
    return files


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Writes the search index as a script too: a page that was opened as a file cannot fetch the index."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(f"var __index = {index.read_text()};\n")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the generated parts in their places; an unknown part ends the build."""
    return INSERT.sub(lambda found: PARTS[found[1]](*([found[2]] if found[2] else [])), markdown)


def standings_of(networks: Sequence[str]) -> list[Standing]:
    """What `best` finds on each network, a short message and a long one."""
    found = []
    for file in networks:
        platform = bl.Platform.load(ROOT / file)
        for message_bytes in SIZES:
            comparison = bl.compare(platform, platform.hosts[0], message_bytes)
            found.append(Standing(file, message_bytes, comparison))
    return found


def when_to_use(card: bl.Card, standings: Sequence[Standing]) -> list[str]:
    """What a planner is for, and where it is the fastest, or near it, among those that `best` compares."""
    name, lines = card.name, ["## When to use it", "", f"Use it for {card.objective}.", ""]
    if "bcast" not in card.collectives:
        return [*lines, f"It plans {', '.join(card.collectives)}, and no broadcast.", ""]
    fastest: list[str] = []
    near: list[str] = []
    rows: list[list[str]] = []
    for standing in standings:
        tried = {each.planner: each for each in standing.comparison.tried}
        where = f"{size(standing.message_bytes)} on `{standing.network}`"
        if name not in tried:
            reason = standing.comparison.passed_over.get(name, "does not support this broadcast")
            rows.append([where, "", "", f"not compared: {reason}"])
            continue
        first = min(tried, key=lambda each: (tried[each].compared_s, each))
        slower = tried[name].compared_s / tried[first].compared_s
        if slower <= NEAR:
            (fastest if name == first else near).append(where)
        bound_s = standing.comparison.plan.bound_s
        predicted_s = tried[name].makespan_s
        by_bound = f"{predicted_s / bound_s:.3g}" if bound_s else ""
        beside = "" if name == first else f"{slower:.3g} times the time of [{first}]({first}.md)"
        rows.append([where, seconds(predicted_s), by_bound, beside or "the fastest"])
    told = [f"The fastest for {'; '.join(fastest)}."] if fastest else []
    told += [f"Within {100 * (NEAR - 1):.0f} % of the fastest for {'; '.join(near)}."] if near else []
    told = told or ["For none of these broadcasts is it within 10 % of the fastest."]
    head = ("broadcast", "predicted", "times the bound", "beside the fastest")
    return [*lines, " ".join(told), "", *table(head, rows), ""]


class Example(NamedTuple):
    """A plan of a planner's page, and what it is for."""

    file: str
    platform: bl.Platform
    plan: bl.Plan


def example_of(card: bl.Card) -> Example:
    """The planner's plan for the first of EXAMPLES that it supports."""
    for file, root, collective in EXAMPLES:
        platform = bl.Platform.load(ROOT / file)
        try:
            plan = bl.plan(platform, root, MESSAGE_BYTES, planner=card.name, collective=collective)
        except bl.PlanError:
            continue
        return Example(file, platform, plan)
    raise LookupError(f"{card.name} supports no example; add one to EXAMPLES")


def planner_page(
    card: bl.Card, comparison: bl.Comparison, standings: Sequence[Standing]
) -> tuple[bytes, str]:
    """The picture and the page of a planner; `comparison` is that of the small platform's broadcast."""
    lines = [f"# {card.name}", "", card.summary, ""]
    fields = ("reference", "objective", "guarantee", "complexity")
    head, *rows = (f"| **{name}** | {getattr(card, name)} |" for name in fields)
    rows.append(f"| **plans** | {', '.join(card.collectives)} ([every collective](../collectives.md)) |")
    lines += [head, "| --- | --- |", *rows, "", *when_to_use(card, standings)]
    file, platform, plan = example_of(card)
    is_broadcast = plan.collective == "bcast"
    option = "" if is_broadcast else f" --collective {plan.collective}"
    argument = "" if is_broadcast else f', collective="{plan.collective}"'
    found = [f"{seconds(bl.simulate(platform, plan).makespan_s)} in segments of {size(plan.segment_bytes)}"]
    if plan.bound_s:
        found.append(f"no plan is faster than {seconds(plan.bound_s)}")
    # `best` was asked on the small platform only.
    place = place_of(card.name, comparison) if (file, is_broadcast) == (SMALL[0], True) else ""
    lines += [
        "## An example",
        "",
        f"![The trees of {card.name}]({card.name}.svg)",
        "",
        f"{plan.collective} of {size(MESSAGE_BYTES)} on `{file}`: {'; '.join(found)}. {place}".strip(),
        "",
        "The same again:",
        "",
        "```shell",
        f"broadleaf plan {file} --root {plan.root} --size 8MiB{option} --planner {card.name} -o plan.json",
        f"broadleaf draw {file} plan.json -o plan.svg",
        f"broadleaf simulate {file} plan.json",
        "```",
        "",
        "```python",
        "import broadleaf as bl",
        "",
        f'platform = bl.Platform.load("{file}")',
        f'plan = bl.plan(platform, "{plan.root}", "{size(MESSAGE_BYTES)}", planner="{card.name}"{argument})',
        "trace = bl.simulate(platform, plan)",
        "print(plan, trace.makespan_s)",
        'bl.draw(platform, plan, "plan.svg")',
        "```",
        "",
    ]
    return picture_of(platform, plan), "\n".join(lines)


def place_of(name: str, comparison: bl.Comparison) -> str:
    """Where a planner stands among those that `best` compares on the small platform."""
    tried = sorted(comparison.tried, key=lambda each: each.compared_s)
    names = [each.planner for each in tried]
    if name not in names:
        reason = comparison.passed_over.get(name, "it does not support this broadcast")
        return f"`best` does not compare it here: {reason}."
    first = tried[0]
    by = f"by [{first.planner}]({first.planner}.md) in {seconds(first.makespan_s)}"
    led = "it is the fastest" if names[0] == name else f"the fastest is {by}"
    number = names.index(name) + 1
    return f"Among the {len(tried)} planners that `best` compares here it is number {number}; {led}."


def picture_of(platform: bl.Platform, plan: bl.Plan) -> bytes:
    from broadleaf.plot.trees import draw_trees

    drawing = io.BytesIO()
    # One under the other: a page is narrower than a figure of several.
    draw_trees(platform, plan, columns=1).savefig(drawing, format="svg", metadata={"Date": None})
    return drawing.getvalue()


def paper_page(name: str, title: str) -> str:
    """What re-runs a paper's experiments, and the results that are committed beside the page."""
    lines = [
        f"# {title}",
        "",
        *(f"- **{head}:** {text}" for head, text in zip(VERDICT, PAPERS[name].verdict, strict=True)),
        "",
        "The experiments again, each of Broadleaf's figures beside the printed one:",
        "",
        "```shell",
        f"broadleaf paper {name} -o results          # the whole",
        f"broadleaf paper {name} --quick -o results  # the short version, in about a minute",
        "```",
        "",
    ]
    papers = DOCS / "papers"
    # What a reader looks for first: the curves; the numbers of each stand below.
    for path in sorted(papers.glob(f"{name}-*.*g")):
        lines += [f"![{path.stem.removeprefix(name + '-').replace('-', ' ')}]({path.name})", ""]
    document = papers / f"{name}.json"
    if document.is_file():
        lines += results(json.loads(document.read_text()))
    return "\n".join(lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> list[str]:
    """A table's lines of Markdown."""
    cells = ([cell(value) for value in row] for row in rows)
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *cells)]


def results(document: dict[str, Any]) -> list[str]:
    """The document that `broadleaf paper NAME -o FOLDER` writes, as tables."""
    quick = " --quick" if document["quick"] else ""
    lines = [f"From `broadleaf paper {document['paper']}{quick} -o docs/papers`.", ""]
    for sheet in document["sheets"]:
        lines += [f"## {sheet['title']}", "", *table(sheet["columns"], sheet["rows"]), ""]
    return [*lines, *(f"- {remark}" for remark in document["remarks"]), ""]


def cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value).replace("|", r"\|")
    # Four digits, but no power of ten among numbers without: 12390 and not 1.239e+04.
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def planners_table() -> str:
    rows = [
        f"| [{card.name}]({card.name}.md) | {card.summary} | {card.guarantee} |" for card in bl.planners()
    ]
    return "\n".join(["| planner | what it does | guarantee |", "| --- | --- | --- |", *rows])


def collectives_table() -> str:
    """A column a collective, a mark where the planner plans it."""
    cards = bl.planners()
    names = [name for name in COLLECTIVES if any(name in card.collectives for card in cards)]
    rows = [
        [
            f"[{card.name}](planners/{card.name}.md)",
            *("yes" if name in card.collectives else "" for name in names),
        ]
        for card in cards
    ]
    return "\n".join(table(["planner", *names], rows))


def papers_table() -> str:
    rows = [f"| [{name}]({name}.md) | {paper.title} |" for name, paper in PAPERS.items()]
    return "\n".join(["| name | paper |", "| --- | --- |", *rows])


def words_table() -> str:
    """The words of ARCHITECTURE.md, which is where they are kept."""
    return (ROOT / "ARCHITECTURE.md").read_text().split("## Words\n")[1].split("\n## ")[0].strip()


def contributing(section: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    return text.replace("ARCHITECTURE.md#words", "../glossary.md").strip()


def file_text(argument: str) -> str:
    """A file of the repository as a block of code."""
    language = {".h": "c", ".json": "json", ".py": "python"}[Path(argument).suffix]
    return f"```{language}\n{(ROOT / argument).read_text().rstrip()}\n```"


def commands() -> str:
    """Each command's help, as a terminal shows it; that of its own commands below it."""
    parts = []
    for command in cli.commands():
        parts.append(help_of(command, f"broadleaf {command.name}", "##"))
        if isinstance(command, click.Group):
            for inner in command.commands.values():
                parts.append(help_of(inner, f"broadleaf {command.name} {inner.name}", "###"))
    return "\n".join(parts)


def help_of(command: click.Command, line: str, heading: str) -> str:
    context = click.Context(command, info_name=line, max_content_width=100)
    title = line.removeprefix("broadleaf ")
    return f"{heading} {title}\n\n```text\n{command.get_help(context)}\n```\n"


def python_api() -> str:
    """Everything that `broadleaf` exports, with the types' members; the documentation is the module's own."""
    return "\n".join(entry(name, getattr(bl, name)) for name in bl.__all__ if not name.startswith("__"))


def entry(name: str, thing: Any) -> str:
    text, types = described(thing)
    if not inspect.isclass(thing):
        return f"### {name}\n\n```python\nbl.{name}{wrapped(types)}\n```\n\n{escaped(text)}\n"
    lines = [f"### {name}\n\n{escaped(text)}\n"]
    for field in getattr(thing, "__dataclass_fields__", {}).values():
        lines.append(f"- `{field.name}: {field.type}`")
    for member in sorted(vars(thing)):
        if member.startswith("_") or not inspect.getdoc(getattr(thing, member, None)):
            continue
        documentation, types = described(getattr(thing, member))
        called = types if types.startswith("(") else f": {types}"
        lines.append(f"- `{member}{called}`: {escaped(documentation)}")
    return "\n".join([*lines, ""])


def described(thing: Any) -> tuple[str, str]:
    """The documentation, and the types that it names; of a Python function the types are its own."""
    text = inspect.getdoc(thing) or ""
    if found := TYPES.search(text):
        return text[: found.start()], " ".join(found[1].split())
    if isinstance(thing, property):
        return text, inspect.get_annotations(thing.fget).get("return", "") if thing.fget else ""
    if inspect.isfunction(thing):
        # Annotations are text already, which a signature puts in quotes.
        return text, re.sub(r"self, |self", "", str(inspect.signature(thing)).replace("'", ""))
    return text, ""


def wrapped(types: str) -> str:
    """A signature that is too long for a line, an argument a line."""
    return types if len(types) < 80 else re.sub(r", (?=\*|\w+:)", ",\n    ", types)


def escaped(text: str) -> str:
    """Documentation as one paragraph of Markdown."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", r"\*")


PARTS: dict[str, Callable[..., str]] = {
    "planners": planners_table,
    "collectives": collectives_table,
    "papers": papers_table,
    "words": words_table,
    "contributing": contributing,
    "file": file_text,
    "commands": commands,
    "python": python_api,
}
