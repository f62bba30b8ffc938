"""Words that the documentation and the help do without: people and programs act, things do not."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from broadleaf.cli import commands
from test_tidy import texts

# A pattern, and the words to write instead.
AVOIDED = {
    r"\b(ours|theirs)\b": "Broadleaf, the plan, the runtime, or the MPI's own",
    r"\b(hopes?|wishes) (to|that|for)\b": "what happens",
    r"\btells? (of|that)\b": "describes, prints, reports",
    # A line, a page, a file or a message: people say things.
    r"\bsays? (so|why|how|which|what|when|where|who|of how)\b": "states, lists, reports",
    r"\b(is|are) (for|its|their) \w+ to say\b": "what decides",
    r"\b(simply|obviously|of course|leverag\w+|blazing\w*)\b": "nothing",
    r"\b(was|were|is|are) not done (after|in)\b": "timed out after",
    r"\blearn(s|t|ed)? alike\b": "identical on all ranks",
    r"\b(file|page|line|header|plan|table|trace)s? (says?|tells?|wants?|knows?)\b": "has, records, names",
    r"\banew\b": "again, or a verb with re-",
    r"\bby luck\b": "the probability, or the case",
}
# In comments besides: things have better verbs.
AVOIDED_IN_COMMENTS = {
    r"\b(says|tells)\b": "states, lists, prints, shows, reports",
    r"\bhopes?\b": "what happens",
    r"\b(nobody|somebody|everybody|whoever)\b": "the rank, node, process or user",
    r"\bso many (?!that\b)": "this many, or the number's name",
}
# A comment that begins a line, in the product's sources; those of C go on behind a star.
COMMENT = re.compile(r"^\s*(?://|/\*|\* |#(?!\[)|\"\"\")(.*)$", re.MULTILINE)
SOURCES = (
    *("benches", "docs", "python", "crates/broadleaf-experiments/src", "crates/broadleaf-py/src"),
    *("crates/broadleaf/src", "crates/broadleaf-mpi", "crates/broadleaf-push/src"),
)
# Records of earlier work, left unchanged.
HISTORY = {"CHANGELOG.md"}


def avoided(pages: dict[str, str], patterns: dict[str, str] = AVOIDED) -> list[str]:
    return [
        f"{name}: {found[0]!r}; write {instead}"
        for name, text in pages.items()
        for pattern, instead in patterns.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def test_pages() -> None:
    pages = {str(path): text for path, text in texts(".md").items() if path.name not in HISTORY}
    assert len(pages) > 20
    assert avoided(pages) == []


@pytest.mark.parametrize("command", commands(), ids=lambda command: str(command.name))
def test_help(command: click.Command) -> None:
    assert avoided({str(command.name): command.get_help(click.Context(command))}) == []


def test_comments() -> None:
    comments = {
        str(path): "\n".join(COMMENT.findall(text))
        for path, text in texts(".rs", ".py", ".c", ".h").items()
        if str(path).startswith(SOURCES)
    }
    assert len(comments) > 400
    assert avoided(comments, AVOIDED | AVOIDED_IN_COMMENTS) == []


def test_comments_of_c_are_found() -> None:
    text = "/* It says so.\n * Ours tells nobody. */\n*ahead = theirs;\n"
    comments = {"file.c": "\n".join(COMMENT.findall(text))}
    assert len(avoided(comments, AVOIDED | AVOIDED_IN_COMMENTS)) == 5


def test_a_word_is_found() -> None:
    pages = {str(Path("page.md")): "It hopes to win.\nOurs was not done after 60 s.\nA line says so.\n"}
    assert len(avoided(pages)) == 5
