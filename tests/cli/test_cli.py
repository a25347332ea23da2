"""The command line as a contract: JSON keys, one-line errors, exit codes, nothing heavy before it is needed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.commands import run

from equipoise.spots.spot import SPOTS
from waiting import GUARD

SPOT = str(SPOTS.find("turn"))
NO_LIMIT_LEDUC = """GAMEDEF
nolimit
numPlayers = 2
numRounds = 2
stack = 12 12
blind = 1 2
firstPlayer = 1 1
numSuits = 2
numRanks = 3
numHoleCards = 1
numBoardCards = 0 1
END GAMEDEF
"""
HEAVY = ("numba", "matplotlib", "scipy", "torch", "ray")


@pytest.mark.parametrize("line", ["games --json", "games kuhn --json", "games chess", "games --nothing"])
def test_a_process_does_what_main_does(line: str) -> None:
    """All other tests here run `main` in their own process."""
    command = [sys.executable, "-m", "equipoise", *line.split()]
    done, here = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=False), run(*line.split())
    assert (done.returncode, done.stdout, done.stderr) == (here.returncode, here.stdout, here.stderr)
    assert done.stdout or done.stderr


def test_equity_prints_one_json_object() -> None:
    done = run("equity", "AhKh", "QQ+,AKs", "--board", "2c 7d Jh", "--json", "--by-hand")
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert answer["equity"] == pytest.approx([0.2665656566, 0.7334343434])
    assert answer["win"] + answer["tie"] + answer["lose"] == pytest.approx(1)
    assert answer["boards"] == 990
    assert answer["by_hand"][0] == {"AhKh": pytest.approx(answer["equity"][0])}


def test_games_lists_and_reports() -> None:
    names = [game["name"] for game in json.loads(run("games", "--json").stdout)["games"]]
    assert names[0] == "kuhn"
    assert "holdem.nolimit" in names
    report = json.loads(run("games", "holdem.limit", "--json", "--buckets", "169,9000,9000,9000").stdout)
    assert report["infosets"] == 57_331_352
    assert [street["decisions"] for street in report["streets"]] == [8, 70, 630, 5670]
    assert report["memory_bytes"] == 8 * report["slots"]


def test_games_shows_rules_tree_and_memory() -> None:
    text = run("games", "holdem.nolimit").stdout
    for part in ("stack = 20000 20000", "river", "betting nodes", "a solve with these cards needs"):
        assert part in text


def test_a_gamedef_file_and_a_menu_file_work(tmp_path: Path) -> None:
    game = tmp_path / "tiny.game"
    text = run("games", "kuhn", "--json")
    game.write_text(json.loads(text.stdout)["gamedef"])
    assert json.loads(run("games", str(game), "--json").stdout)["nodes"] == 9
    menu = tmp_path / "menu.toml"
    menu.write_text('[betting]\nbet = ["all-in"]\n')
    answer = json.loads(run("games", "holdem.nolimit", "--menu", str(menu), "--json").stdout)
    assert answer["menu"] == "menu"
    assert answer["nodes"] < 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["games", "chess"], "chess"),
        (["games", "kuhn", "--buckets", "1,2"], "buckets"),
        (["games", "kuhn", "--buckets", "many"], "buckets"),
        (["games", "holdem.nolimit", "--menu", "none.toml"], "none.toml"),
        (["equity", "AhKh", "QQ?"], "QQ?"),
        (["equity", "AhKh", "QQ", "--board", "2c 7d Jx"], "Jx"),
        (["equity", "AhKh", "QQ", "--board", "2c 2c Jh"], "twice"),
        (["bench", "nothing"], "nothing"),
        (["spot", "solve", "leduc", "--menu", "pot"], "limit game"),
        (["spot", "solve", SPOT, "--menu", "pot"], "turn.toml' is a spot"),
        (["spot", "solve", "holdem.nolimit", "--menu", "none.toml"], "none.toml"),
        (
            ["spot", "solve", "holdem.nolimit"],
            "39,601 betting nodes on 2,619,605 boards: the tables need at least",
        ),
        (["spot", "solve", "leduc", "--storage", "int8"], "int8"),
        (["train", "nothing", "--out", "/nowhere/run"], "no recipe 'nothing'"),
        (["train", "leduc", "--out", "/dev/null/run"], "/dev/null/run"),
        (["train", "leduc", "--out", "/nowhere/run", "--set", "solver.sede=7"], "solver.sede: unknown key"),
        (["train", "leduc", "--out", "/nowhere/run", "--minutes", "0"], "positive"),
        (["train", "leduc", "--out", SPOT], "is a file"),
        (["train", "limit-small", "--out", "/nowhere/run", "--set", "measure.method=exact"], "measure.method"),
        (["strategy", "show", "/nowhere/run"], "/nowhere/run"),
        (["strategy", "show", SPOT], "turn.toml"),
        (["measure", SPOT], "turn.toml"),
        (["measure", "nobody"], "no agent, run or strategy file 'nobody'"),
        (["measure", "uniform"], "name one"),
        (["spot", "solve", "leduc", "--storage", "int16", "--variant", "predictive", "--json"], "predictive"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "; " in done.stderr  # the remedy


def test_a_bad_gamedef_names_file_and_line(tmp_path: Path) -> None:
    game = tmp_path / "bad.game"
    game.write_text("GAMEDEF\nlimit\nnumPlayers = 3\nnumRounds = 1\nEND GAMEDEF\n")
    done = run("games", str(game))
    assert done.returncode == 2
    assert f"{game}:3: numPlayers is 3" in done.stderr
    assert done.stderr.count("\n") == 1


def test_usage_errors_exit_with_two() -> None:
    for arguments in (["equity", "AhKh"], ["--nothing"], ["chess"], ["equity", "AA", "KK", "--threads", "-1"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["equity", "--help"],
        ["abstraction", "report", "--help"],
        ["chess"],
        ["games", "chess"],
        ["games"],
        ["--version"],
    ],
)
def test_light_answers_import_nothing_heavy(arguments: list[str]) -> None:
    """Help and usage errors must answer at once: what they import decides that, and unlike a time it can be tested."""
    code = "import sys; from equipoise.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print('HEAVY', [name for name in sys.argv[-1].split(',') if name in sys.modules])"
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.argv[1:] = {arguments!r}\n" + code.replace("sys.argv[-1]", repr(",".join((*HEAVY, "numpy")))),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=True)
    assert "HEAVY []" in done.stdout


def test_every_command_has_help_with_an_example() -> None:
    for command in (
        "games",
        "equity",
        "spot solve",
        "spot show",
        "spot report",
        "train",
        "strategy show",
        "measure",
        "reproduce",
        "bench",
    ):
        text = run(*command.split(), "--help").stdout
        assert f"equipoise {command} " in text[text.index("Example") :]
        assert "--json" in text


def test_solve_saves_what_show_shows(tmp_path: Path) -> None:
    spot = tmp_path / "tiny.toml"
    spot.write_text(
        'board = "Qs Jh 2h 8d 5c"\npot = 100\nstack = 200\n'
        'ranges = { oop = "QQ,76s", ip = "AQ" }\nbetting = { bet = [0.5] }\n'
    )
    saved = str(tmp_path / "tiny.solution")
    answer = json.loads(run("spot", "solve", str(spot), "--target", "0.2", "--out", saved, "--json").stdout)
    assert answer["exploitability_percent_pot"] <= 0.2
    assert answer["ev"]["oop"] + answer["ev"]["ip"] == pytest.approx(100, abs=1e-3)
    assert set(answer["root"]) == {"check", "bet 50"}
    for key in ("iterations", "seconds", "cpu_seconds", "memory_bytes"):
        assert answer[key] > 0
    shown = json.loads(run("spot", "show", saved, "--line", "bet 50", "--json").stdout)
    assert shown["player"] == 1
    assert shown["actions"][:2] == ["fold", "call"]
    assert sum(shown["frequency"]) == pytest.approx(1)
    wrong = (["show", saved, "--line", "bet 51"], ["show", str(spot)], ["solve", str(tmp_path / "none.toml")])
    for arguments in wrong:
        done = run("spot", *arguments)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1


def test_train_measure_and_strategy_show(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    changes = ["--set", "solver.seed=7", "--set", "measure.every=10", "--threads", "1"]
    done = run("train", "leduc", "--out", out, "--iterations", "2000", *changes, "--json")
    answer = json.loads(done.stdout)
    assert "information sets" in done.stderr
    assert (answer["iterations"], answer["stopped"]) == (2000, "iterations")
    for name in ("recipe.toml", "log.txt", "progress.png", "progress.csv", "progress.json", "strategy.u8"):
        assert (tmp_path / "run" / name).stat().st_size
    assert run("train", "leduc", "--out", out).returncode == 2  # not without --resume
    more = run("train", "--resume", out, "--iterations", "30000", "--threads", "1", "--json")
    better = json.loads(more.stdout)
    assert better["exploitability_mbb"] < answer["exploitability_mbb"] < 3000
    measured = json.loads(run("measure", out, "--json").stdout)
    assert measured["exploitability_mbb"] == pytest.approx(better["exploitability_mbb"], rel=1e-3)
    coarse = json.loads(run("measure", f"{out}/strategy.u8", "--game", "leduc", "--json").stdout)
    assert coarse["exploitability_mbb"] == pytest.approx(better["exploitability_mbb"], abs=20)
    root = json.loads(run("strategy", "show", out, "--json").stdout)
    assert root["actions"] == ["check", "bet 2"]
    assert len(root["hands"]) == 6
    later = json.loads(run("strategy", "show", out, "--line", "check, check", "--json").stdout)
    assert len(later["buckets"][0]) == len(later["actions"])
    board = json.loads(run("strategy", "show", out, "--line", "check, check", "--board", "4c", "--json").stdout)
    assert board["hands"]["4d"]["bucket"] != board["hands"]["3d"]["bucket"]
    assert board["hands"]["4d"]["weight"] == pytest.approx(root["hands"]["4d"]["strategy"][0], abs=1e-6)
    for wrong in ("--line=bet 4", "--board=4c", "--line=bet 2, fold", "--board=K"):
        refused = run("strategy", "show", out, wrong)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
    assert "bucket" in run("strategy", "show", out, "--line", "check, check").stdout


def test_a_no_limit_game_is_solved_with_a_menu(tmp_path: Path) -> None:
    game, menu, saved = tmp_path / "leduc12.game", tmp_path / "shove.toml", str(tmp_path / "x.solution")
    game.write_text(NO_LIMIT_LEDUC)
    menu.write_text('[betting]\nbet = ["all-in"]\n')
    actions = {
        str(menu): ["fold", "call", "all-in 12"],
        "pot": ["fold", "call", "raise 6", "all-in 12"],
        "": ["fold", "call", "raise 4", "raise 6", "all-in 12"],  # the standard menu
    }
    for name, offered in actions.items():
        chosen = ["--menu", name] if name else []
        done = run("spot", "solve", str(game), *chosen, "--out", saved, "--force", "--threads", "1", "--json")
        answer = json.loads(done.stdout)
        assert answer["exploitability_mbb"] <= 1
        assert sum(answer["values_mbb"]) == pytest.approx(0, abs=0.01)
        assert list(answer["root"]) == offered
        # the file knows its menu
        assert json.loads(run("spot", "show", saved, "--json").stdout)["frequency"] == list(answer["root"].values())
    menu.write_text("[betting]\nbet = [0]\n")
    done = run("spot", "solve", str(game), "--menu", str(menu))
    assert done.returncode == 2
    assert done.stderr.startswith(f"equipoise: {menu}: size '0'")


def test_reproduce_lists_and_refuses() -> None:
    assert "cfr-br-figure-3" in run("reproduce").stdout
    assert run("reproduce", "figure-99").returncode == 2


def test_the_library_offers_what_it_names() -> None:
    import equipoise

    for name in equipoise.__all__:
        assert getattr(equipoise, name) is not None
    with pytest.raises(AttributeError):
        _ = equipoise.no_such_thing  # type: ignore[attr-defined]
