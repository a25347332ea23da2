"""The lowest versions that pyproject.toml allows of what the package needs, as constraints for pip. `make test-lowest`
runs this before anything is installed: it needs nothing but Python.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def lowest_versions(project: str) -> list[str]:
    """A line NAME==VERSION for each dependency of the package itself; extras are at their newest."""
    return [_lowest(requirement) for requirement in tomllib.loads(project)["project"]["dependencies"]]


def _lowest(requirement: str) -> str:
    bound = re.fullmatch(r"([\w.-]+)>=([\d.]+)(,[^;]*)?", requirement)
    if bound is None:
        raise SystemExit(f"the dependency {requirement!r} has no lowest version; write NAME>=VERSION in pyproject.toml")
    return f"{bound[1]}=={bound[2]}"


if __name__ == "__main__":
    print(*lowest_versions(PROJECT.read_text()), sep="\n")
