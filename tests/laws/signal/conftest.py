"""The laws that the packages of the verbs ask of their rules, for the rules of this family: the same fixtures."""

from __future__ import annotations

import runpy
from pathlib import Path

PACKAGES = Path(__file__).parents[3] / "packages"


def fixtures_of(package):
    return runpy.run_path(str(PACKAGES / package / "tests" / "conftest.py"))


_autodiff, _batching, _xla = (fixtures_of(package) for package in ("autodiff", "batching", "xla_backend"))
at_rest, spaced, laws = _autodiff["at_rest"], _autodiff["spaced"], _autodiff["laws"]
check_batching = _batching["check_batching"]
regime, dtypes_of, check_compiled = _xla["regime"], _xla["dtypes_of"], _xla["check_compiled"]
