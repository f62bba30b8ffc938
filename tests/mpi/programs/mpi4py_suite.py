"""Runs modules of mpi4py's own tests, and writes how they ended on each rank: FOLDER RESULTS MODULE..."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path

from mpi4py import MPI

folder, results, *modules = sys.argv[1:]
sys.path.insert(0, folder)
result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromNames(modules).run(result)
lists = {
    "failed": result.failures + result.errors,
    "skipped": result.skipped,
    "expected": result.expectedFailures,
}
ended = {name: sorted(test.id() for test, _ in tests) for name, tests in lists.items()}
document = {"run": result.testsRun, **ended}
for _, text in lists["failed"]:
    print(text, file=sys.stderr)
Path(results, f"{MPI.COMM_WORLD.Get_rank()}.json").write_text(json.dumps(document))
