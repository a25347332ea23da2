"""What pyproject.toml asks for and what constraints.txt pins: bounds that can be tested, and no name left open."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from lowest_versions import lowest_versions

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
PINNED = {canonicalize_name(name): Version(version) for name, version in PINS.items()}
EXTRAS = [*PROJECT["optional-dependencies"].values()]


def installed_below(lines: list[str], extra: str = "", found: set[str] | None = None) -> set[str]:
    """The names of what these requirements bring with them, as far as it is installed here."""
    found = set() if found is None else found
    for requirement in map(Requirement, lines):
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in ("", *sorted(requirement.extras)):
            if f"{name}[{wanted}]" not in found:
                try:
                    below = requires(requirement.name) or []
                except PackageNotFoundError:  # of an extra that is not installed
                    continue
                found.add(f"{name}[{wanted}]")
                installed_below(below, wanted, found)
    return {name.partition("[")[0] for name in found}


def test_constraints_name_everything_that_is_installed() -> None:
    installed = installed_below([*PROJECT["dependencies"], *(line for extra in EXTRAS for line in extra)])
    assert {"numpy", "llvmlite", "pydantic-core", "pluggy"} <= installed  # it goes down to what ours need
    assert sorted(installed - PINNED.keys()) == [], "constraints.txt must name these too"


def test_constraints_are_within_the_bounds() -> None:
    for extra in (PROJECT["dependencies"], *EXTRAS):
        for requirement in map(Requirement, extra):
            assert PINNED[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_lowest_versions_are_the_bounds() -> None:
    lowest = dict(line.split("==") for line in lowest_versions((ROOT / "pyproject.toml").read_text()))
    bounds = [Requirement(line) for line in PROJECT["dependencies"]]
    assert lowest == {bound.name: {each.operator: each.version for each in bound.specifier}[">="] for bound in bounds}


def test_a_dependency_without_a_bound_is_refused() -> None:
    with pytest.raises(SystemExit, match="'numpy' has no lowest version; write NAME>=VERSION"):
        lowest_versions('[project]\ndependencies = ["numpy"]')
