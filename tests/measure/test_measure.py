"""Exact best responses: known values, a naive twin; cuts, threads, files and samples change nothing else."""

import itertools
import json
import math
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import equipoise
from commands import invoke, refusal
from equipoise import BettingState, Exploitability, GameRules, InputError, exploitability, load_game, read_gamedef
from equipoise.agents.card_blind import NAMES, CardBlindStrategy
from equipoise.games.betting_state import CALL, FOLD
from equipoise.measure.best_response import METHODS
from equipoise.measure.stats import t975
from equipoise.tree.betting_tree import DECISION, build_tree, prune
from waiting import GUARD

TIE = 1e-5
SMALL = ["kuhn", "leduc", "rhode-island", "holdem.two-four", "holdem.flop"]


def reduced(ranks: int, suits: int, board: str = "0 3 1 1") -> GameRules:
    """Limit hold'em with fewer cards and raises."""
    rounds = len(board.split())
    by_round = {"raiseSize": "10 10 20 20", "firstPlayer": "2 1 1 1", "maxRaises": "2 1 2 1", "numBoardCards": board}
    lines = [f"{key} = {' '.join(value.split()[:rounds])}" for key, value in by_round.items()]
    lines += ["numPlayers = 2", f"numRounds = {rounds}", "blind = 10 5", "numHoleCards = 2"]
    lines += [f"numSuits = {suits}", f"numRanks = {ranks}"]
    return read_gamedef("\n".join(["GAMEDEF", "limit", *lines, "END GAMEDEF"]))


def naive_chances(agent: str, state: BettingState) -> dict[int, float]:
    """What an agent does, in words of the rules."""
    legal = state.legal()
    actions = [FOLD] * legal.fold + [CALL] + [legal.raise_min] * legal.can_raise
    if agent == "uniform":
        return {action: 1 / len(actions) for action in actions}
    wanted = {"always-fold": FOLD, "always-call": CALL, "always-raise": legal.raise_min}[agent]
    played = wanted if wanted in actions else CALL
    return {action: float(action == played) for action in actions}


class NaiveResponse:
    """A best response in a limit game: raw holes, raw boards, every pair of holes, parts by the street of the end."""

    def __init__(self, rules: GameRules, agent: str, player: int) -> None:
        self.rules, self.agent, self.player = rules, agent, player
        self.holes = list(itertools.combinations(range(rules.deck.size), rules.hole_cards))

    def value(self) -> list[float]:
        """What it wins a hand, by street."""
        total = self.values(BettingState.start(self.rules), (), dict.fromkeys(self.holes, 1.0))
        cards = self.rules.deck.size, self.rules.hole_cards
        pairs = math.comb(*cards) * math.comb(cards[0] - cards[1], cards[1])
        return (sum(total.values()) / pairs).tolist()

    def values(self, state: BettingState, board: tuple[int, ...], reach: dict) -> dict:  # type: ignore[type-arg]
        rules = self.rules
        if not any(reach.values()):
            return {hole: np.zeros(rules.rounds) for hole in reach}
        if state.is_over:
            return {hole: self.end(state, board, hole, reach) for hole in reach}
        missing = rules.board_size(state.round) - len(board)
        if missing:
            return self.deal(state, board, missing, reach)
        chances = naive_chances(self.agent, state)
        if state.player != self.player:
            parts = [
                self.values(state.apply(action), board, {hole: chance * r for hole, r in reach.items()})
                for action, chance in chances.items()
            ]
            return {hole: sum(part[hole] for part in parts) for hole in reach}
        below = [self.values(state.apply(action), board, reach) for action in chances]
        return {hole: self.first_best([part[hole] for part in below]) for hole in reach}

    @staticmethod
    def first_best(values):  # type: ignore[no-untyped-def]
        most = max(value.sum() for value in values)
        return next(value for value in values if value.sum() >= most - TIE * abs(most))

    def deal(self, state, board, missing, reach):  # type: ignore[no-untyped-def]
        rules = self.rules
        ways = math.comb(rules.deck.size - len(board) - 2 * rules.hole_cards, missing)
        total = {hole: np.zeros(rules.rounds) for hole in reach}
        left = [card for card in range(rules.deck.size) if card not in board]
        for cards in itertools.combinations(left, missing):
            live = {hole: r for hole, r in reach.items() if not set(hole) & set(cards)}
            for hole, value in self.values(state, board + cards, live).items():
                total[hole] += value / ways
        return total

    def end(self, state, board, hole, reach):  # type: ignore[no-untyped-def]
        won = 0.0
        for other, r in reach.items():
            if r and not set(other) & set(hole):
                won += r * self.payoff(state, board, hole, other)
        parts = np.zeros(self.rules.rounds)
        parts[state.round] = won
        return parts

    def payoff(self, state, board, hole, other):  # type: ignore[no-untyped-def]
        stake = min(state.spent)
        if state.folded >= 0:
            return -stake if state.folded == self.player else stake
        mine, theirs = rank(self.rules, hole + board), rank(self.rules, other + board)
        return stake * ((mine > theirs) - (mine < theirs))


@cache
def rank(rules: GameRules, cards: tuple[int, ...]) -> int:
    return int(rules.ranker.rank(cards))


@cache
def measured(game: str, agent: str) -> Exploitability:
    return exploitability(load_game(game), agent, threads=1)


def test_uniform_play_is_as_exploitable_as_known() -> None:
    """OpenSpiel's NashConv: 0.9167 in Kuhn poker, 4.7472 in Leduc hold'em."""
    assert 2 * measured("kuhn", "uniform").exploitability == pytest.approx(1000 * 11 / 12, rel=1e-12)
    assert 2 * measured("leduc", "uniform").exploitability == pytest.approx(1000 * 4.747222222222222, rel=1e-12)
    assert measured("kuhn", "uniform").player_values == pytest.approx((1 / 2, 5 / 12))


@pytest.mark.parametrize("game", SMALL)
def test_always_fold_loses_the_blinds(game: str) -> None:
    blinds = load_game(game).blinds
    result = measured(game, "always-fold")
    assert result.player_values == pytest.approx((blinds[1], blinds[0]), rel=1e-9)
    assert result.exploitability == pytest.approx(1000 * np.mean(blinds) / max(blinds), rel=1e-9)


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize("game", ["kuhn", "leduc", "hold'em"])
def test_the_naive_best_response_wins_the_same_on_every_street(game: str, agent: str) -> None:
    rules = reduced(4, 2, "0 1 1") if game == "hold'em" else load_game(game)
    result = exploitability(rules, agent, threads=1)
    for player in range(2):
        ours = [values[player] for values in result.by_street.values()]
        assert ours == pytest.approx(NaiveResponse(rules, agent, player).value(), rel=1e-9, abs=1e-9)
        assert sum(ours) == pytest.approx(result.player_values[player], rel=1e-12)


@pytest.mark.parametrize("agent", NAMES)
def test_flop_by_flop_is_the_same_as_all_at_once(agent: str) -> None:
    for rules in (reduced(4, 3), reduced(5, 4, "0 3")):
        whole = exploitability(rules, agent, threads=1)
        for result in (
            exploitability(rules, agent, threads=2),
            exploitability(rules, agent, threads=1, by_flop=True),
            exploitability(rules, agent, threads=3, by_flop=True),
        ):
            assert result.player_values == pytest.approx(whole.player_values, rel=1e-12)
            assert np.array(list(result.by_street.values())) == pytest.approx(np.array(list(whole.by_street.values())))
            assert result.flops == whole.flops


def test_a_no_limit_game_is_measured_with_a_menu(tmp_path: Path) -> None:
    head = "GAMEDEF\nnolimit\nnumPlayers = 2\nnumRounds = 3\nstack = 60 60\nblind = 10 5\nfirstPlayer = 2 1 1\n"
    rules = read_gamedef(
        head + "numSuits = 3\nnumRanks = 4\nnumHoleCards = 2\nnumBoardCards = 0 3 1\nEND GAMEDEF\n", "tiny"
    )
    whole = exploitability(rules, "uniform", menu="pot", threads=2)
    apart = exploitability(rules, "uniform", menu="pot", by_flop=True, threads=2)
    assert apart.player_values == pytest.approx(whole.player_values, rel=1e-12)
    assert exploitability(rules, "always-fold", menu="pot").player_values == pytest.approx((5, 10))
    raised = exploitability(rules, "always-raise", menu="pot")
    assert sum(values[0] for values in raised.by_street.values()) == pytest.approx(raised.player_values[0])
    path = tmp_path / "flops"
    exploitability(rules, "uniform", menu="pot", out=path)
    with pytest.raises(InputError, match="made for another"):
        exploitability(rules, "uniform", menu="standard", out=path)


KILLED = """
import os, signal, sys
from equipoise import exploitability, read_gamedef
def progress(fraction):
    if fraction > 0.4:
        os.kill(os.getpid(), signal.SIGKILL)
exploitability(read_gamedef(open(sys.argv[1]).read()), "uniform", threads=1, out=sys.argv[2], progress=progress)
"""


def test_a_killed_run_goes_on_from_the_flops_already_finished(tmp_path: Path) -> None:
    from equipoise.games.gamedef import write_gamedef

    rules = reduced(4, 3, "0 3 1")
    game, path = tmp_path / "tiny.game", tmp_path / "flops"
    game.write_text(write_gamedef(rules))
    done = subprocess.run([sys.executable, "-c", KILLED, str(game), str(path)], timeout=GUARD, check=False)
    assert done.returncode == -signal.SIGKILL
    stored = path.read_bytes()
    path.write_bytes(stored[:-5])  # as if it had died while writing
    told: list[float] = []
    resumed = exploitability(rules, "uniform", threads=1, out=path, progress=told.append)
    fresh = exploitability(rules, "uniform", threads=1, by_flop=True)
    assert resumed.player_values == fresh.player_values
    assert 0 < len(told) < fresh.flops
    told.clear()
    again = exploitability(rules, "uniform", threads=1, out=path, progress=told.append)
    assert (again.player_values, told) == (fresh.player_values, [])


def test_files_of_flops_are_refused_when_damaged_or_of_another_agent(tmp_path: Path) -> None:
    rules, path = reduced(4, 3, "0 3"), tmp_path / "flops"
    exploitability(rules, "always-call", threads=1, out=path)
    with pytest.raises(InputError, match="flops: made for another"):
        exploitability(rules, "uniform", threads=1, out=path)
    stored = bytearray(path.read_bytes())
    stored[stored.index(b"\n") + 50] ^= 1
    path.write_bytes(stored)
    with pytest.raises(InputError, match="record 1 is damaged"):
        exploitability(rules, "always-call", threads=1, out=path)
    with pytest.raises(InputError, match="cannot be used"):
        exploitability(rules, "always-call", threads=1, out=tmp_path / "no" / "such" / "folder")


def test_intervals_of_samples_cover_the_exact_value(tmp_path: Path) -> None:
    rules = reduced(5, 4, "0 3")
    for agent in ("uniform", "always-raise"):
        path = tmp_path / agent
        exact = exploitability(rules, agent, threads=1, out=path).exploitability
        runs = [exploitability(rules, agent, threads=1, sample_flops=20, seed=seed, out=path) for seed in range(60)]
        errors = np.array([run.exploitability - exact for run in runs])
        widths = np.array([run.ci95_mbb for run in runs])
        assert (abs(errors) <= widths).mean() >= 0.9
        assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(len(runs))  # no bias that could be seen
        assert widths.mean() < 6 * errors.std()  # and not wider than it needs to be
        values = [sum(v[0] for v in run.by_street.values()) for run in runs]
        assert values == pytest.approx([run.player_values[0] for run in runs])
    assert t975(4) == pytest.approx(2.776, rel=3e-3)
    assert t975(19) == pytest.approx(2.093, rel=1e-4)


def test_a_pruned_tree_has_what_is_left() -> None:
    tree = build_tree(load_game("leduc"))
    same = prune(tree, np.zeros(len(tree), bool))
    for name in (
        "kind",
        "player",
        "street",
        "parent",
        "first_child",
        "num_children",
        "action",
        "chips",
        "street_first",
    ):
        assert np.array_equal(getattr(same, name), getattr(tree, name)), name
    small = prune(tree, CardBlindStrategy("always-call").never(tree))
    assert (small.num_children[small.kind == DECISION] == 1).all()
    assert len(small) == 6  # four checks, a deal, a showdown
    assert small.street_first.tolist() == [0, 3, 6]


@pytest.mark.parametrize(
    ("game", "options", "said"),
    [
        ("kuhn", {"sample_flops": 20}, "without flops"),
        ("kuhn", {"out": "file"}, "without flops"),
        ("leduc", {"sample_flops": 2}, "the number of flops to sample is 2"),
        ("leduc", {"method": "guess"}, f"'guess'; use {' or '.join(METHODS)}"),
        ("holdem.nolimit", {}, "all-in before the first deal"),
    ],
)
def test_what_cannot_be_measured_is_refused(game: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        exploitability(load_game(game), "uniform", **options)  # type: ignore[arg-type]


def test_the_command_prints_one_json_object(tmp_path: Path) -> None:
    done = invoke("measure", "uniform", "--game", "leduc", "--json")
    answer = json.loads(done.stdout)
    assert answer.keys() == {
        "exploitability_mbb", "method", "player_values_mbb", "by_street_mbb", "flops", "seconds",
    }  # fmt: skip
    assert answer["exploitability_mbb"] == pytest.approx(2373.6111111)
    assert answer["method"] == "exact"
    assert np.mean(answer["player_values_mbb"]) == pytest.approx(answer["exploitability_mbb"])
    sample = ("--flops", "20", "--out", str(tmp_path / "flops"))
    sampled = invoke("measure", "uniform", "--game", "leduc", *sample, "--json")
    estimate = json.loads(sampled.stdout)
    assert estimate["ci95_mbb"] > 0
    assert (estimate["method"], estimate["draws"], estimate["all_flops"]) == ("sampled", 20, 3)
    assert "equipoise measure uniform --game leduc" in invoke("measure", "--help").stdout
    text = invoke("measure", "always-call", "--game", "leduc", "--flops", "9").stdout
    assert "mbb/g" in text
    assert "estimated from 9 draws of 3 flops" in text
    assert "exact" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["always-win", "--game", "kuhn"], "always-win"),
        (["uniform"], "--game"),
        (["uniform", "--game", "chess"], "chess"),
        (["uniform", "--game", "kuhn", "--method", "guess"], "guess"),
        (["uniform", "--game", "kuhn", "--flops", "20"], "without flops"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments: list[str], said: str) -> None:
    assert said in refusal("measure", *arguments)


PUBLISHED = {"always-fold": 750, "always-call": 1163.48, "always-raise": 3697.69}


@pytest.mark.slow
@pytest.mark.parametrize("agent", PUBLISHED)
def test_limit_holdem_is_as_published(agent: str) -> None:
    """Johanson and others 2011."""
    result = equipoise.exploitability(load_game("holdem.limit"), agent, sample_flops=20)
    assert result.exploitability == pytest.approx(PUBLISHED[agent], abs=result.ci95_mbb)
