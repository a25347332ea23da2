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
            kind = "class" if inspect.isclass(found) else "function" if callable(found) else "data"
            lines += [f".. auto{kind}:: equipoise.{name}"]
            lines += ["   :members:"] if kind == "class" else []
        lines += ["```", ""]
    return "\n".join(lines)
