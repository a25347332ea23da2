"""The reference page, from the names that `src/equipoise/__init__.pyi` lists by topic."""

import inspect
import re
from pathlib import Path

STUB = Path(__file__).parents[1] / "src" / "equipoise" / "__init__.pyi"


def topics() -> list[tuple[str, list[str]]]:
    """The topics of the library, and the names of each."""
    found: list[tuple[str, list[str]]] = []
    for line in STUB.read_text().splitlines():
        if line.startswith("# "):
            found.append((line.removeprefix("# "), []))
        elif listed := re.fullmatch(r"from \S+ import (\w+) as \w+", line):
            found[-1][1].append(listed[1])
    return found


def reference_text() -> str:
    """The page as MyST: a section for each topic, a directive for each name."""
    import equipoise

    lines = []
    for title, names in topics():
        lines += [f"## {title}", "", "```{eval-rst}"]
        for name in names:
            found = getattr(equipoise, name)
            if isinstance(found, int):
                lines += [f".. py:data:: equipoise.{name}", f"   :value: {found}"]
            elif inspect.isclass(found):
                lines += [f".. autoclass:: equipoise.{name}", "   :members:"]
            else:
                lines += [f".. autofunction:: equipoise.{name}"]
        lines += ["```", ""]
    return "\n".join(lines)
