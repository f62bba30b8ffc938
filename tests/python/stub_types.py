"""The types of the compiled core's stub in the words that its documentation uses."""

from __future__ import annotations

import ast
from pathlib import Path

import broadleaf

STUB = Path(broadleaf.__file__).with_name("_core.pyi")
# Short names of types that a checker prints by longer ones.
WORDS = {
    "_Size": "int | str",
    "SupportsIndex": "int",
    "os.PathLike[str]": "PathLike",
    "Mapping[str, Any]": "dict",
    "dict[str, Any]": "dict",
    "NDArray[np.float64]": "np.ndarray",
    "np.recarray[Any, Any]": "np.recarray",
    "nx.DiGraph[str]": "nx.DiGraph",
    "nx.Graph[Any]": "nx.Graph",
    "Sequence[": "list[",
}


def worded(text: str) -> str:
    for name, word in WORDS.items():
        text = text.replace(name, word)
    return text


def types() -> dict[str, str]:
    """`Class.member` or `function`, and `(argument: type, ...) -> type`, or the type of a property."""
    found: dict[str, str] = {}
    for thing in ast.parse(STUB.read_text()).body:
        if isinstance(thing, ast.FunctionDef):
            found[thing.name] = signature(thing)
        elif isinstance(thing, ast.ClassDef):
            for member in thing.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    found[f"{thing.name}.{member.name}"] = signature(member)
    return found


def signature(function: ast.FunctionDef) -> str:
    decorators = [ast.unparse(each) for each in function.decorator_list]
    returns = worded(ast.unparse(function.returns)) if function.returns else "None"
    if "property" in decorators:
        return returns
    arguments = function.args
    arguments.args = [each for each in arguments.args if each.arg != "self"]
    return f"({worded(ast.unparse(arguments))}) -> {returns}"
