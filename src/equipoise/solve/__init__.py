"""Solvers: the vector walk and what is built on it.

`equipoise.solve` names both this package and the function that solves (`solving.solve`): the package can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _SolvePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from equipoise.solve.solving import solve

        return solve(*arguments, **options)


sys.modules[__name__].__class__ = _SolvePackage
