"""A pair of CSV matrices, `NAME.latency.csv` (s) and `NAME.bandwidth.csv` (bytes/s).

The first row and the first column hold the node ids; row i, column j is the link from i to j; an empty
cell, in both files, is a pair without a link. The diagonal is ignored.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from broadleaf._core import Platform
from broadleaf.convert.matrices import matrices_of_platform, platform_of_matrices
from broadleaf.errors import PlatformError
from broadleaf.files import write_whole

SUFFIXES = (".latency.csv", ".bandwidth.csv", ".csv")


def matrix_paths(path: Path) -> tuple[Path, Path]:
    """The latency and the bandwidth file that `path`, any of `NAME.csv` or the two themselves, stands for."""
    for suffix in SUFFIXES:
        if path.name.endswith(suffix):
            stem = path.name.removesuffix(suffix)
            return path.with_name(f"{stem}.latency.csv"), path.with_name(f"{stem}.bandwidth.csv")
    raise PlatformError(f"{path}: not the name of a CSV file; write NAME.csv")


def load_matrices(path: Path) -> Platform:
    """The platform of two CSV files; it is named after them."""
    latency_path, bandwidth_path = matrix_paths(path)
    ids, latency = read_matrix(latency_path)
    other_ids, bandwidth = read_matrix(bandwidth_path)
    if ids != other_ids:
        raise PlatformError(f"{bandwidth_path}: its node ids are not those of {latency_path}; use the same")
    links = ~np.isnan(latency)
    unpaired = (links != ~np.isnan(bandwidth)) & ~np.eye(len(ids), dtype=bool)
    if unpaired.any():
        row, column = np.argwhere(unpaired)[0]
        raise PlatformError(
            f"{bandwidth_path}: {ids[row]} to {ids[column]} is empty in one of the two files; fill both"
        )
    try:
        return platform_of_matrices(
            latency, bandwidth, ids, links, latency_path.name.removesuffix(".latency.csv"), "one-port"
        )
    except PlatformError as error:
        raise PlatformError(f"{latency_path}, {bandwidth_path}: {error}") from None


def read_matrix(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    """Node ids and numbers of a CSV matrix, NaN for an empty cell."""
    try:
        rows = [row for row in csv.reader(io.StringIO(path.read_text())) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise PlatformError(f"{path}: not a CSV file ({error}); write comma-separated text") from None
    if len(rows) < 2:
        raise PlatformError(f"{path}: no matrix; write the node ids into the first row and the first column")
    ids = [cell.strip() for cell in rows[0][1:]]
    names = [row[0].strip() for row in rows[1:]]
    if names != ids:
        raise PlatformError(f"{path}: rows and columns have different ids; use the same, in one order")
    matrix = np.full((len(ids), len(ids)), np.nan)
    for at, row in enumerate(rows[1:]):
        if len(row) != len(ids) + 1:
            raise PlatformError(
                f"{path}: line {at + 2} has {len(row) - 1} values for {len(ids)} nodes; write one a node"
            )
        for column, cell in enumerate(row[1:]):
            if cell.strip():
                matrix[at, column] = read_number(cell, path, at + 2, column + 2)
    return ids, matrix


def read_number(cell: str, path: Path, line: int, column: int) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    # An empty cell is how "no link" is written; a NaN in the file is a mistake of whoever wrote it.
    if not math.isfinite(number):
        place = f"{path}: line {line} column {column}"
        raise PlatformError(f"{place}: '{cell.strip()}' is not a finite number; write nothing for no link")
    return number


def save_matrices(platform: Platform, path: Path, at_bytes: int | None) -> list[Path]:
    """Writes both files and returns their paths; the matrices are complete before the first is written."""
    paths = matrix_paths(path)
    texts = [matrix_text(platform.nodes, matrix) for matrix in matrices_of_platform(platform, at_bytes)]
    for target, text in zip(paths, texts, strict=True):
        write_whole(target, text)
    return list(paths)


def matrix_text(ids: list[str], matrix: NDArray[np.float64]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["", *ids])
    for node, row in zip(ids, matrix.tolist(), strict=True):
        writer.writerow([node, *("" if math.isnan(value) else repr(value) for value in row)])
    return text.getvalue()
