"""One grammar: every command has --json and examples that run, options mean one thing, and texts name what exists."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.helpers.commands import all_commands, examples, options, run
from typer.testing import CliRunner

import equipoise
from equipoise.cli.commands.registry import app
from equipoise.play.acpc.client import play_at
from equipoise.play.slumbot.server import SlumbotServer, SlumbotTable
from waiting import GUARD

COMMANDS = all_commands()
ROOT, CHECKOUT = Path(equipoise.__file__).parent, Path(__file__).parents[2]
HOST = "127.0.0.1"
IDS = [" ".join(path) for path in COMMANDS]


def strict(text: str) -> Any:
    """One JSON object as the standard has it, and nothing else."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    value = json.loads(text, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


def invoke(*arguments: str) -> Any:
    done = CliRunner().invoke(app, list(arguments), input="")
    assert done.exit_code == 0, (arguments, done.stderr, done.exception)
    return strict(done.stdout)


@pytest.fixture
def served() -> Iterator[str]:
    """A server with Slumbot's API."""
    agent = equipoise.load_player("always-call", "holdem.nolimit")
    with SlumbotServer(SlumbotTable(agent, seed=1), HOST, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def in_background(*calls: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    return threads


def sit(name: str, port: int) -> None:
    """Play at a dealer that is about to listen."""
    until = time.monotonic() + GUARD
    while time.monotonic() < until:
        try:
            play_at(equipoise.load_player(name, "kuhn"), HOST, port, seed=1)
        except equipoise.InputError:
            time.sleep(0.05)
        else:
            return


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def acpc_deal(_folder: Path) -> Any:
    ports = free_port(), free_port()
    seats = in_background(
        *(lambda name=name, port=port: sit(name, port) for name, port in zip(NAMES, ports, strict=True))
    )  # type: ignore[misc]
    found = invoke("acpc", "deal", "--game", "kuhn", "--hands", "4", "--ports", f"{ports[0]},{ports[1]}", "--json")
    for seat in seats:
        seat.join()
    return found


def acpc_play(_folder: Path) -> Any:
    ports: list[int] = []
    rules = equipoise.load_game("kuhn")
    dealer, *_ = in_background(lambda: equipoise.deal_match(rules, 4, seed=1, names=NAMES, on_ports=ports.extend))
    while not ports:
        time.sleep(0.01)
    other = in_background(lambda: sit("uniform", ports[1]))
    found = invoke("acpc", "play", "uniform", HOST, str(ports[0]), "--game", "kuhn", "--json")
    for thread in (dealer, *other):
        thread.join()
    return found


def reproduce(folder: Path) -> Any:
    from equipoise.experiments.cfr_br import leduc_pathology

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leduc_pathology, "run", lambda out, _full, say: leduc_pathology.pathology(out, 5, 5, say))
        return invoke("reproduce", "leduc-pathology", "--out", str(folder), "--json")


def bench(_folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        found = [equipoise_benchmark()]
        patch.setattr("equipoise.bench.tree.run", lambda: found)
        return invoke("bench", "tree", "--json")


def warm_up(_folder: Path) -> Any:
    from equipoise.cli import warm_up

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_up, "STAGES", {"games": warm_up.STAGES["games"]})
        found = invoke("warm-up", "--json")
    assert [row["stage"] for row in found["stages"]] == ["games"]
    return found


def equipoise_benchmark() -> Any:
    from equipoise.bench.measure import Benchmark

    return Benchmark("a", "nodes/s", 2.0, "b", float("nan"))


def slumbot_serve(_folder: Path) -> Any:
    def stop(_server: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("equipoise.play.slumbot.server.SlumbotServer.serve_forever", stop)
        return invoke("slumbot", "serve", "uniform", "--port", "0", "--json")


NAMES = ("always-call", "uniform")
HANDS = "--game kuhn --hands 8 --threads 1"
QUICK: dict[tuple[str, ...], str | Callable[[Path], Any]] = {
    ("games",): "kuhn",
    ("equity",): 'AhKh QQ --board "2c 7d Jh" --by-hand',
    ("abstraction", "report"): "CARDS --samples 100",
    ("abstraction", "bucket"): "CARDS 4c",
    ("abstraction", "compare"): "CARDS leduc --iterations 2 --no-cfr --points 1 --hands 8",
    ("recipes",): "",
    ("cluster", "plan"): "leduc --set solver={method=\\'pcs\\'} --seconds 0.1 --machines 1",
    ("train",): "leduc --out RUN --iterations 50 --threads 1 --set measure.method=none",
    ("strategy", "show"): 'RUN --line "x b2"',
    ("strategy", "pack"): "RUN --out PACKED --units 15",
    ("measure",): "uniform --game kuhn --threads 1",
    ("match",): f"always-raise always-call --aivat --no-duplicate --log LOG {HANDS}",  # no luck is left: infinity
    ("log", "replay"): "LOG --game kuhn",
    ("play",): "uniform --game kuhn --hands 1",
    ("acpc", "deal"): acpc_deal,
    ("acpc", "play"): acpc_play,
    ("slumbot", "serve"): slumbot_serve,
    ("slumbot", "play"): "uniform URL --hands 2 --seed 1",
    ("reproduce",): reproduce,
    ("bench",): bench,
    ("warm-up",): warm_up,
    ("spot", "solve"): "leduc --threads 1 --target 5 --out SOLUTION",
    ("spot", "show"): "SOLUTION",
    ("spot", "report"): "SOLUTION",
    ("spot", "walk"): "SOLUTION",
}


def test_every_command_gives_one_json_object(tmp_path: Path, served: str) -> None:
    """In order: what one command writes, another reads. A command without a line here, or without --json, fails."""
    for path in COMMANDS:
        assert path in QUICK, f"a quick line for {path}, please"
    names = {"RUN": "run", "LOG": "x.log", "SOLUTION": "x.solution", "CARDS": "cards.toml", "PACKED": "x.packed"}
    places = {"URL": served, **{word: str(tmp_path / name) for word, name in names.items()}}
    Path(places["CARDS"]).write_text('game = "leduc"\ncards.preflop = { method = "percentile", buckets = 2 }\n')
    for path in (path for path in QUICK if path in COMMANDS):
        said = QUICK[path]
        if callable(said):
            assert said(tmp_path), path
            continue
        words = [places.get(word, word) for word in shlex.split(said)]
        assert invoke(*path, *words, "--json"), path


def test_lists_give_one_json_object_too() -> None:
    assert invoke("games", "--json")["games"]
    assert {"name", "about"} == set(invoke("reproduce", "--json")["experiments"][0])
    found = {recipe["name"]: recipe for recipe in invoke("recipes", "--json")["recipes"]}
    assert found["leduc"]["cost_infosets"] == 468
    assert (found["limit-large"]["game"], found["limit-large"]["cost_infosets"]) == ("holdem.limit", 57_331_352)
    assert all(recipe["cost_memory_bytes"] > 0 and recipe["minutes"] for recipe in found.values())


def test_reproduce_gives_published_values_beside_ours(tmp_path: Path) -> None:
    rows = reproduce(tmp_path)["rows"]
    assert set(rows[0]) == {"name", "published", "ours"}
    published = {row["name"]: row["published"] for row in rows}
    assert published["J.Q.K vs real"] == published["J.Q.K vs real, CFR-BR"] == 55.2
    found = json.loads((tmp_path / "leduc-pathology.json").read_text())
    ours = {row["name"]: row["ours"] for row in rows}
    assert all(ours[row["row"]] == row["first"] for row in found["rows"])


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_every_command_has_json_and_an_example_of_itself(path: tuple[str, ...]) -> None:
    assert "--json" in options(COMMANDS[path])
    assert any(line.startswith(" ".join(("equipoise", *path))) for line in examples(COMMANDS[path]))


def test_an_option_means_one_thing_everywhere() -> None:
    """The same name, the same kind of value."""
    kinds: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        hints = get_type_hints(inspect.unwrap(command.callback))
        for each in command.params:
            for word in (word for word in each.opts if word.startswith("--") and each.name in hints):
                kind = re.sub(r"<class '(\w+)'>", r"\1", str(hints[each.name]))
                kinds.setdefault(word, set()).add(kind.removesuffix(" | None"))
    shared = ("--out", "--threads", "--flops", "--seed", "--json", "--hands", "--minutes", "--game", "--force", "--log")
    assert {word: sorted(kinds[word]) for word in shared if len(kinds[word]) > 1} == {}
    assert all(kinds[word] for word in shared)


def parsed(words: list[str]) -> None:
    """Parse a command without running it."""
    depth = next(depth for depth in (2, 1) if tuple(words[1 : 1 + depth]) in COMMANDS)
    path = tuple(words[1 : 1 + depth])
    COMMANDS[path].make_context(path[-1], words[1 + depth :])


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_every_example_is_understood(path: tuple[str, ...]) -> None:
    for line in examples(COMMANDS[path]):
        words = shlex.split(line.rstrip("&"))
        if words[0] == "equipoise":
            parsed(words)
            assert len(line) <= 76, "it would wrap in a help text of 80 columns"


WAITS = {("acpc", "deal"), ("slumbot", "serve")}  # for players or clients that nobody starts
LONG = {  # they take many seconds
    ("acpc", "play"), ("slumbot", "play"), ("abstraction", "compare"), ("reproduce",), ("bench",), ("train",),
    ("warm-up",),
}  # fmt: skip


SLOW_LINES = ("equipoise spot report flop",)  # two flops solved: 18 seconds


def run_in_a_shell(path: tuple[str, ...], folder: Path) -> None:
    """All examples of a help text in an empty folder, as a shell reads them."""
    shim = folder / "bin" / "equipoise"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m equipoise "$@"\n')
    shim.chmod(0o755)
    script = "\n".join(["set -e", f"PATH={shlex.quote(str(shim.parent))}:$PATH", *examples(COMMANDS[path])])
    script += "\nfor job in $(jobs -p); do kill $job 2>/dev/null; done; true"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in WAITS | LONG], ids=" ".join)
def test_every_example_runs_as_printed(path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder. They are plain words, which a shell reads as they stand."""
    monkeypatch.chdir(tmp_path)
    for line in (line for line in examples(COMMANDS[path]) if not line.startswith(SLOW_LINES)):
        assert not set(line) & set("&|<>$*?~(){};`\\"), line
        program, *words = shlex.split(line)
        assert program == "equipoise"
        done = run(*words)
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LONG | {("spot", "report")}), ids=" ".join)
def test_every_long_example_runs_as_printed(path: tuple[str, ...], tmp_path: Path) -> None:
    run_in_a_shell(path, tmp_path)


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the source with its file, f-strings with `X` in place of values; names of formats are none."""
    for file in ROOT.rglob("*.py"):
        tree = ast.parse(file.read_text())
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield (
                    str(file),
                    "".join(
                        str(getattr(part, "value", "X")) if isinstance(part, ast.Constant) else "X"
                        for part in node.values
                    ),
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
                yield str(file), node.value


def check_commands(where: str, text: str) -> int:
    """The number of commands in a text, each with options of its own."""
    checked = 0
    for found in re.finditer(r"equipoise ([a-z][a-z-]*)(?: ([a-z]+))?([^;,`|&\n]*)", text):
        first, second, rest = found.groups()
        if first not in {path[0] for path in COMMANDS}:
            assert "`equipoise" not in found[0], (where, found[0])
            continue
        checked += 1
        path = (first, second) if (first, second) in COMMANDS else (first,)
        if path not in COMMANDS:
            continue
        for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
            assert word in options(COMMANDS[path]), (where, found[0])
    return checked


def test_texts_name_only_commands_and_options_that_exist() -> None:
    """Remedies, help texts and docstrings: `equipoise train --resume X` needs a command `train` with that option."""
    every = {word for command in COMMANDS.values() for word in options(command)} | {"--version"}
    checked = 0
    for file, text in texts():
        if re.fullmatch(r"equipoise [a-z ]+ \d+", text):
            continue  # the name of a file format
        checked += check_commands(file, text)
        for word in re.findall(r"(?<![\w<!-])--[a-z][a-z-]+", text):
            assert word in every, (file, word, text)
    assert checked > 30


def test_pages_name_only_commands_and_options_that_exist() -> None:
    pages = [*(CHECKOUT / "docs").glob("*.md"), CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md"]
    assert sum(check_commands(page.name, page.read_text().replace("`equipoise`", "")) for page in pages) > 50
