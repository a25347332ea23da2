"""The library's names: one list by topic, which the package, the types and the reference page share."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise

ROOT = Path(__file__).parents[1]
STUB = (ROOT / "src" / "equipoise" / "__init__.pyi").read_text()
NAMES = re.findall(r"^from \.\S+ import (\w+) as \w+$", STUB, re.MULTILINE)

sys.path.insert(0, str(ROOT / "docs"))
from reference import reference_text, topics  # noqa: E402


def test_every_name_is_listed_once_and_there() -> None:
    assert len(NAMES) == len(set(NAMES)) > 60
    assert sorted(NAMES) == sorted(equipoise.__all__)
    assert set(NAMES) <= set(dir(equipoise))
    assert all(f" as {name}\n" in STUB for name in NAMES)
    for name in NAMES:
        assert getattr(equipoise, name) is not None
    with pytest.raises(AttributeError):
        _ = equipoise.nothing  # type: ignore[attr-defined]


def test_the_reference_has_every_name_once() -> None:
    listed = [name for _, names in topics() for name in names]
    assert listed == NAMES
    text = reference_text()
    for name in NAMES:
        assert len(re.findall(rf"^\.\. \S+:: equipoise\.{name}$", text, re.MULTILINE)) == 1
    for title, _ in topics():
        assert f"## {title}" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_documented(name: str) -> None:
    found = getattr(equipoise, name)
    if callable(found):
        assert inspect.getdoc(found)
        text = inspect.getdoc(found) or ""
        assert not text.startswith(f"{name}(")  # a dataclass without a docstring of its own


def classes_named(text: object) -> set[str]:
    """The words of an annotation that begin like classes, without the types of numbers that Python and NumPy have."""
    return (
        set(re.findall(r"\b[A-Z]\w+", str(text)))
        - {"Any", "None"}
        - {f"{t}{n}" for t in "FIU" for n in (8, 16, 32, 64)}
    )


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(getattr(equipoise, name))])
def test_what_a_function_returns_is_in_the_reference(name: str) -> None:
    assert classes_named(inspect.signature(getattr(equipoise, name)).return_annotation) <= set(NAMES)


@pytest.mark.parametrize(
    ("owner", "name"),
    [("Solution", "strategy"), ("BettingState", "legal"), ("Agent", "follow"), ("StrategyFile", "profile"),
     ("SpotReport", "mean"), ("Run", "progress"), ("Run", "cost"), ("GameReport", "streets"), ("SpotReport", "rows")],
)  # fmt: skip
def test_what_results_are_made_of_is_in_the_reference(owner: str, name: str) -> None:
    listed = getattr(equipoise, owner)
    found = listed.__annotations__.get(name) or getattr(vars(listed)[name], "func", vars(listed)[name]).__annotations__
    words = classes_named(found if isinstance(found, str) else found["return"])
    assert words and words <= set(NAMES)


def test_types_are_known_to_checkers(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import equipoise\n"
        "def agent(view: equipoise.View) -> int:\n    return equipoise.CALL\n"
        'reveal_type(equipoise.match(agent, "always-call", game="leduc"))\n'
        "equipoise.build_tree(7)\nequipoise.nothing\n"
    )
    options = ["--strict", "--config-file=", "--no-site-packages", f"--cache-dir={tmp_path}"]  # without NumPy's stubs
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)],
        capture_output=True, text=True, check=False, env={"MYPYPATH": str(ROOT / "src"), "PATH": ""},
    )  # fmt: skip
    assert 'Revealed type is "equipoise.play.match.MatchResult"' in done.stdout
    assert "build_tree" in done.stdout
    assert 'Module has no attribute "nothing"' in done.stdout


def test_import_is_light() -> None:
    heavy = ["numpy", "numba", "matplotlib", "rich", "typer", "pydantic", "torch"]
    code = f"import sys, equipoise; equipoise.__version__; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_version_is_that_of_the_package() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", equipoise.__version__)
