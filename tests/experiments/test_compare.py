"""The abstraction lab: what it ranks by, that it survives a kill -9, and what it refuses. Leduc, seconds each."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from commands import invoke, refusal
from containers import read_container
from equipoise import AbstractCFR, BucketMap, InputError, build_tree, compare_abstractions, load_game, measure_agent
from equipoise.experiments.lab.compare import winnings
from equipoise.experiments.lab.comparison import AbstractionComparison, Ranking, rank
from equipoise.experiments.lab.curves import Curve, Measuring, Point, Until, train_curve
from equipoise.play.tournament import Tournament
from equipoise.runs.recipe import Recipe, load_recipe, with_solver
from equipoise.strategy.file import load_strategy
from waiting import GUARD

LEDUC = load_game("leduc")
PARTS = "{ method = 'percentile', buckets = %d }"
CARDS = {  # each cuts what the one before it has
    "one": (1, 1),
    "two": (2, 1),
    "four": (2, 2),
}
SETTINGS: dict[str, Any] = {"game": "leduc", "threads": 1, "hands": 20_000}


def write(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return str(path)


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Cards only, for any game of two streets."""
    folder = tmp_path_factory.mktemp("recipes")
    found = {
        name: write(folder, name, f"[cards]\npreflop = {PARTS % preflop}\nflop = {PARTS % flop}\n")
        for name, (preflop, flop) in CARDS.items()
    }
    return found | {"all": write(folder, "all", 'cards = "lossless"\n')}


@pytest.fixture(scope="module")
def chain(recipes: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> AbstractionComparison:
    out = tmp_path_factory.mktemp("chain") / "lab"
    names = [recipes[name] for name in ("two", "one", "all", "four")]
    return compare_abstractions(names, out, iterations=2000, stage=100, cfr_iterations=200_000, points=3, **SETTINGS)


def least(name: str, cards: BucketMap) -> float:
    """The least exploitability of an abstraction by another solver: CFR against an unabstracted opponent, mbb/g."""
    tree, lossless = build_tree(LEDUC), BucketMap.lossless(LEDUC)
    losses = []
    for seat in range(2):
        maps = (cards, lossless) if seat == 0 else (lossless, cards)
        solver = AbstractCFR(tree, maps, stage=250, precision=np.float64)
        solver.run(1000)
        losses.append(solver.losses()[seat])
    assert name
    return 1000 * sum(losses) / 2 / LEDUC.big_blind


def test_a_finer_abstraction_is_no_worse_by_cfr_br(chain: AbstractionComparison, recipes: dict[str, str]) -> None:
    assert [found.name for found in chain.abstractions] == ["all", "four", "two", "one"]
    for found in chain.abstractions:
        expected = least(found.name, equipoise.build_abstraction(recipes[found.name], game="leduc"))
        assert found.cfr_br.last.mbb > expected - 1  # nothing in the abstraction is better
        assert found.cfr_br.last.mbb == pytest.approx(expected, abs=20)  # CFR-BR's error after 2,000 iterations
        assert found.cfr is not None
        assert found.cfr.last.mbb > expected - 1
    best, *_, worst = chain.abstractions
    assert best.cfr_br.last.mbb < 0.1 * worst.cfr_br.last.mbb


def test_the_numbers_are_those_of_the_strategies_in_the_folder(chain: AbstractionComparison) -> None:
    assert chain.folder is not None
    assert chain.measuring == Measuring("exact")
    for found in chain.abstractions:
        for solver, curve in found.curves():
            run = chain.folder / "runs" / found.name / solver.lower()
            measured = measure_agent(str(run), method="exact")
            assert curve.last.mbb == pytest.approx(measured.as_json()["exploitability_mbb"], abs=1e-9)
            assert curve.last.ci95 is None
            assert load_strategy(run).about["iterations"] == curve.last.iteration
            iterations = [point.iteration for point in curve.points]
            total = iterations[-1]
            assert iterations == [total // 4, total // 2, total]
    methods = {(found.cfr_br.method, found.cfr.method) for found in chain.abstractions if found.cfr}
    assert methods == {("cfr-br", "external")}
    assert not chain.equal_size
    assert chain.abstractions[-1].buckets == (1, 1)


def test_files_say_what_was_returned(chain: AbstractionComparison) -> None:
    folder = chain.folder
    assert folder is not None
    written = json.loads((folder / "compare.json").read_text())
    assert {key: value for key, value in written.items() if key != "rows"} == chain.as_json()
    first = written["abstractions"][0]
    assert first["cfr_br"]["exploitability_mbb"] == chain.abstractions[0].cfr_br.last.mbb
    assert first["cfr_br"]["ci95_mbb"] is None
    assert "lbr_mbb" not in json.dumps(written)
    rows = list(csv.DictReader((folder / "compare.csv").read_text().splitlines()))
    assert len(rows) == 4 * 2 * 3 == len(written["rows"])
    assert {row["rank"] for row in rows if row["abstraction"] == "one"} == {"4"}
    assert (folder / "compare.png").stat().st_size > 10_000
    assert (folder / "matches.csv").exists()


def test_one_on_one_is_against_the_same_solver(chain: AbstractionComparison) -> None:
    by_solver: dict[str, float] = {"cfr_br": 0.0, "cfr": 0.0}
    for found in chain.as_json()["abstractions"]:
        for solver in by_solver:
            by_solver[solver] += found[solver]["one_on_one"]["mbb_per_hand"]
    assert by_solver == {"cfr_br": pytest.approx(0, abs=1e-9), "cfr": pytest.approx(0, abs=1e-9)}  # zero-sum
    names = ("a CFR-BR", "a CFR", "b CFR-BR", "b CFR", "c CFR-BR", "c CFR")
    mbb = np.arange(36.0).reshape(6, 6)
    played = Tournament(names, mbb, np.full((6, 6), 3.0), 10, 1)
    wins = winnings("b", ["a", "c"], "CFR", played)
    assert wins.mbb == (mbb[3, 1] + mbb[3, 5]) / 2
    assert wins.ci95 == pytest.approx(3 / np.sqrt(2))


def plain(part: Any) -> Any:
    """All but places and times, as JSON has it."""
    if isinstance(part, dict):
        return {key: plain(inner) for key, inner in part.items() if key not in ("seconds", "folder", "files")}
    return [plain(inner) for inner in part] if isinstance(part, (list, tuple)) else part


def test_the_order_of_the_arguments_does_not_matter(recipes: dict[str, str]) -> None:
    options = {"iterations": 20, "cfr_iterations": 5000, "points": 2, **SETTINGS}
    names = [recipes[name] for name in ("one", "two", "four")]
    first = compare_abstractions(names, **options)
    second = compare_abstractions(names[::-1], **options)
    assert plain(first.as_json()) == plain(second.as_json())
    assert first.folder is None and first.files == ()


STRUCK = """
import glob, os, sys
from equipoise.cli import main

def strike(event, _given):
    global number
    if number and event in ("open", "os.mkdir", "os.rename") and glob.glob(pattern):
        sent, number = number, 0
        os.kill(os.getpid(), sent)

pattern, number = sys.argv[1], int(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
sys.addaudithook(strike)
main()
"""  # a command that is sent a signal at the first file that it touches after one of a name is there


def test_a_killed_comparison_goes_on(recipes: dict[str, str], tmp_path: Path) -> None:
    """Killed when the first point is there, stopped by Ctrl-C in CFR, killed again there and between matches."""
    out = tmp_path / "lab"
    numbers = ("--iterations", "500", "--cfr-iterations", "300000", "--hands", "20000", "--threads", "1")
    both = (recipes["two"], recipes["four"], "--game", "leduc", "--points", "4")
    said = ("abstraction", "compare", *both, *numbers, "--json")
    moments = (
        "runs/two/cfr-br/curve.points", "runs/two/cfr/checkpoints", "runs/four/cfr-br/curve.points",
        "matches.pairs/*.pair",
    )  # fmt: skip
    for number, moment in enumerate(moments):
        sent = signal.SIGINT if number == 1 else signal.SIGKILL
        hit = [sys.executable, "-c", STRUCK, str(out / moment), str(int(sent)), *said, "--out", str(out)]
        done = subprocess.run(hit, capture_output=True, text=True, timeout=GUARD, check=False)
        assert list(out.glob(moment)), done.stderr
        assert (done.stdout, done.returncode) == ("", 130 if number == 1 else -signal.SIGKILL)
        assert ("stopped; the same command continues in" in done.stderr) == (number == 1)
    assert not (out / "compare.json").exists()
    kept = out / "runs" / "two" / "cfr-br" / "curve.points"
    before = read_container(kept)[0]["points"]
    whole_command = [sys.executable, "-m", "equipoise", *said, "--out", str(out)]
    done = subprocess.run(whole_command, capture_output=True, text=True, timeout=GUARD, check=False)
    assert done.returncode == 0, done.stderr
    options = {**SETTINGS, "iterations": 500, "cfr_iterations": 300_000, "points": 4}
    whole = compare_abstractions([recipes["four"], recipes["two"]], **options)
    assert plain(json.loads(done.stdout)) == plain(whole.as_json())
    assert before == read_container(kept)[0]["points"]


def by_cfr_br(recipes: dict[str, str], stage: int | None = None) -> Recipe:
    solver = {"method": "cfr-br", "threads": 1, **({"stage": stage} if stage else {})}
    return with_solver(load_recipe(recipes["two"], ["game=leduc"]), solver)


def curve(recipe: Recipe, folder: Path, until: Until, points: int = 3, measuring: Measuring | None = None) -> Curve:
    return train_curve(
        recipe, folder, until, measuring or Measuring("exact"), points=points, threads=1,
        progress=lambda _stage, _done: None, say=lambda _line: None,
    )  # fmt: skip


def test_curves_go_on_where_more_is_asked_and_refuse_less(recipes: dict[str, str], tmp_path: Path) -> None:
    recipe, folder = by_cfr_br(recipes), tmp_path / "run"
    short = curve(recipe, folder, Until(iterations=40))
    assert [point.iteration for point in short.points] == [10, 20, 40]
    long = curve(recipe, folder, Until(iterations=160))
    assert [point.iteration for point in long.points] == [10, 20, 40, 80, 160]
    assert long.points[:3] == short.points
    assert long.half_way == long.points[-2]
    whole = curve(recipe, tmp_path / "whole", Until(iterations=160), points=5)
    assert [point.mbb for point in whole.points] == [point.mbb for point in long.points]
    for less in (Until(iterations=80), Until(minutes=1)):
        with pytest.raises(InputError, match=r"160 iterations, not .*; ask for as much or more"):
            curve(recipe, folder, less)
    with pytest.raises(InputError, match="another recipe"):
        curve(by_cfr_br(recipes, stage=5), folder, Until(iterations=160))
    (folder / "curve.points").write_text("{")  # of what is not whole nothing is known: the strategy is measured again
    assert [point.mbb for point in curve(recipe, folder, Until(iterations=160)).points] == [long.last.mbb]


def test_solvers_with_stages_are_measured_where_one_ends(recipes: dict[str, str], tmp_path: Path) -> None:
    recipe = by_cfr_br(recipes, stage=8)
    found = curve(recipe, tmp_path / "iterations", Until(iterations=60), points=4)
    assert [point.iteration for point in found.points] == [8, 16, 32, 64]
    timed = curve(recipe, tmp_path / "minutes", Until(minutes=0.005), points=3)
    assert all(point.iteration % 8 == 0 for point in timed.points)
    assert timed.last.seconds >= 0.3


def test_a_trunk_takes_the_place_of_stages(recipes: dict[str, str], tmp_path: Path) -> None:
    """The hybrid agent, by recipes that have stages, and the other way round: the same order as with full responses."""
    table = "game = 'leduc'\n" + Path(recipes["four"]).read_text()
    staged = write(tmp_path, "staged", table + "[solver]\nmethod = 'cfr-br'\nstage = 7\n")
    coarse = "game = 'leduc'\n" + Path(recipes["one"]).read_text()
    trunk = write(tmp_path, "trunk", coarse + "[solver]\nmethod = 'cfr-br'\ntrunk = 1\nboards = 3\n")
    options = {**SETTINGS, "iterations": 300, "cfr_iterations": 1000, "points": 2}
    hybrid = compare_abstractions([staged, trunk], tmp_path / "hybrid", trunk=1, **options)
    full = compare_abstractions([staged, trunk], tmp_path / "full", stage=50, **options)
    for found, said in ((hybrid, {"trunk": 1, "stage": None}), (full, {"trunk": None, "stage": 50})):
        assert [row.name for row in found.abstractions] == ["staged", "trunk"]
        for row in found.abstractions:
            run = load_recipe(tmp_path / ("hybrid" if found is hybrid else "full") / "runs" / row.name / "cfr-br")
            assert {key: getattr(run.solver, key) for key in said} == said
            assert row.cfr and row.cfr.method == "external"
    for one, two in zip(hybrid.abstractions, full.abstractions, strict=True):
        assert one.cfr_br.last.mbb == pytest.approx(two.cfr_br.last.mbb, abs=100)


def test_a_sample_of_flops_and_a_lower_bound_are_what_they_are_called(recipes: dict[str, str], tmp_path: Path) -> None:
    recipe = by_cfr_br(recipes)
    until = Until(iterations=20)
    exact = curve(recipe, tmp_path / "run", until, 1).last
    flops = curve(recipe, tmp_path / "run", until, 1, Measuring("flops", 60)).last
    assert flops.ci95 is not None and 0 < flops.ci95 < 400
    assert abs(flops.mbb - exact.mbb) < 2 * flops.ci95
    again = curve(recipe, tmp_path / "run", until, 1, Measuring("flops", 60, seed=2)).last
    assert again.mbb != flops.mbb
    bound = curve(recipe, tmp_path / "run", until, 1, Measuring("lbr", 2000)).last
    assert bound.ci95 is not None and bound.mbb - 2 * bound.ci95 < exact.mbb
    assert bound.mbb != exact.mbb
    names = {Measuring(method).key for method in ("exact", "flops")}
    assert names == {"exploitability_mbb"} and Measuring("lbr").key == "lbr_mbb"
    assert "lower bound" in Measuring("lbr", 10).words and "estimated" in Measuring("flops", 10).words


def test_a_game_is_measured_by_what_it_allows() -> None:
    limit, no_limit = load_game("holdem.limit"), load_game("holdem.nolimit")
    menu = equipoise.load_menu("pot", no_limit)
    assert Measuring.of(LEDUC, None, None, None, 3) == Measuring("exact")
    assert Measuring.of(LEDUC, None, 9, None, 3) == Measuring("flops", 9, 3)
    assert Measuring.of(load_game("holdem.two-four"), None, None, None, 3).method == "exact"
    assert Measuring.of(limit, None, None, None, 3) == Measuring("flops", 40, 3)
    assert Measuring.of(no_limit, menu, None, 500, 3) == Measuring("lbr", 500, 3)
    for rules, bets, flops, hands in (
        (LEDUC, None, 2, None),
        (load_game("kuhn"), None, 10, None),
        (no_limit, menu, 10, None),
        (limit, None, None, 100),
        (no_limit, menu, None, 1),
    ):
        with pytest.raises(InputError):
            Measuring.of(rules, bets, flops, hands, 1)


def test_rankings_say_what_cannot_be_told_apart() -> None:
    found = rank("CFR", [("c", 10.0, 1.0), ("a", 12.5, 1.0), ("b", 12.5, 0.0)])
    assert found == Ranking("CFR", ("c", "a", "b"), (True, False))
    assert found.text == "c > a ~ b"
    assert rank("CFR", [("a", 1.0, 0.6), ("b", 2.0, 0.5)]).text == "a ~ b"
    point = Point(1, 1.0, 1, 5.0, None)
    assert Curve("cfr-br", (point,)).half_way is None


NO_LIMIT = 'game = "holdem.nolimit"\nbetting = "%s"\n[cards]\n%s'


def _by_emd(buckets: int) -> str:
    return "".join(f'{street} = {{ method = "emd", buckets = {buckets} }}\n' for street in ("flop", "turn", "river"))


STOPS = 'game = "leduc"\n[cards]\npreflop = { method = "percentile", buckets = %d }\n[stop]\n%s\n'


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        (["two"], {}, "1 recipe to compare; name two"),
        ([], {}, "no recipe to compare"),
        (["two", "nowhere"], {}, "no recipe 'nowhere'"),
        (
            ["leduc", "two-four-ehs"],
            {"game": None},
            "different games: leduc is of leduc, two-four-ehs of holdem.two-four",
        ),
        (["two", "two"], {}, "two recipes called 'two'"),
        (["two-four-holdem", "two-four-cfr-br"], {"game": None}, "have the same cards"),
        (["two", "two-ehs"], {}, "two and two-ehs have the same buckets"),  # a last street has one order of strength
        (["pot", "standard"], {"game": None}, "different bets"),
        (["two", "four"], {"iterations": None}, "recipe two does not say when CFR-BR stops"),
        (["by-iterations", "by-exploitability"], {"iterations": None}, "does not say when CFR-BR stops"),
        (["one-minute", "two-minutes"], {"iterations": None}, "stop at different times"),
        (["two", "four"], {"iterations": 0}, "no minutes or iterations"),
        (["two", "four"], {"minutes": -1.0}, "no minutes or iterations"),
        (["two", "four"], {"points": 0}, "the number of points is 0; use 1 to 64"),
        (["two", "four"], {"flops": 2}, "the number of flops to sample is 2; use 5 to"),
        (["two", "four"], {"lbr_hands": 500}, "exploitability can be had"),
        (["two", "four"], {"overrides": ["solver.colour=red"]}, "unknown key"),
        (["two", "four"], {"stage": 0}, "solver.stage"),
        (["two", "four"], {"stage": 5, "trunk": 1}, "stage is not for method cfr-br with a trunk"),
        (["two", "four"], {"trunk": 3}, "trunk"),
        (["limit-small", "limit-2-bucket"], {"game": None, "stage": 5}, "too many boards"),
        (["two", "four"], {"game": "chess"}, "chess"),
        (["two", "four"], {"game": "kuhn"}, "flop"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    files: list[str], options: dict[str, Any], said: str, recipes: dict[str, str], tmp_path: Path
) -> None:
    made = {
        "two-ehs": Path(recipes["two"]).read_text().replace("buckets = 1 }", "buckets = 1, feature = 'ehs' }"),
        "pot": NO_LIMIT % ("pot", _by_emd(5)),
        "standard": NO_LIMIT % ("standard", _by_emd(6)),
        "by-iterations": STOPS % (1, "iterations = 5"),  # of external sampling, not of CFR-BR
        "by-exploitability": STOPS % (2, 'exploitability = 9.0\n[measure]\nmethod = "exact"'),
        "one-minute": STOPS % (1, "minutes = 1"),
        "two-minutes": STOPS % (2, "minutes = 2"),
    }
    names = [write(tmp_path, name, made[name]) if name in made else recipes.get(name, name) for name in files]
    out = tmp_path / "lab"
    with pytest.raises(InputError) as caught:
        compare_abstractions(names, out, **{"iterations": 10, **SETTINGS, **options})
    assert said in str(caught.value)
    assert not out.exists()


def test_a_folder_that_is_a_file_and_one_of_another_comparison(recipes: dict[str, str], tmp_path: Path) -> None:
    names = [recipes["one"], recipes["two"]]
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InputError, match="cannot write"):
        compare_abstractions(names, file, iterations=2, **SETTINGS)
    assert file.read_text() == "mine"
    out = tmp_path / "lab"
    compare_abstractions(names, out, iterations=2, cfr=False, points=1, **SETTINGS)
    with pytest.raises(InputError, match="another recipe"):
        compare_abstractions(names, out, iterations=2, cfr=False, points=1, stage=1, **SETTINGS)


def test_the_command(recipes: dict[str, str]) -> None:
    numbers = ("--iterations", "20", "--hands", "1000", "--threads", "1", "--points", "2", "--no-cfr")
    done = invoke("abstraction", "compare", recipes["two"], recipes["four"], "--game", "leduc", *numbers)
    assert done.exit_code == 0, done.output
    for part in ("leduc: exploitability, mbb/g", "132*", "not of equal size", "by CFR-BR one-on-one", "two CFR-BR"):
        assert part in done.stdout
    assert "four, cfr-br: iteration 20" in done.stderr
    assert refusal("abstraction", "compare", "leduc", "--json")
    text = invoke("abstraction", "compare", "--help").stdout
    assert "Example" in text and "--json" in text and "two-four-ochs" in text


def test_the_three_of_equal_size() -> None:
    read = [load_recipe(f"two-four-{name}") for name in ("ehs", "ehs2", "ochs")]
    sizes = {equipoise.runs.cost.cost_of(recipe).infosets for recipe in read}
    assert sizes == {1790}
    assert {recipe.stop.minutes for recipe in read} == {3}
    assert {recipe.solver.trunk for recipe in read} == {1}
