"""One function for both measures of an agent: the exact best response where it is feasible, else a lower bound."""

from __future__ import annotations

from pathlib import Path

from equipoise.agents.card_blind import CardBlindStrategy
from equipoise.agents.named import Measurable, as_agent, load_agent
from equipoise.core.errors import InputError, shown
from equipoise.core.progress import Progress, stage
from equipoise.games.bet_menu import ALL_IN, BetMenu
from equipoise.games.rules import GameRules
from equipoise.measure.best_response import Exploitability, Measurement, exploitability
from equipoise.measure.lbr import Bets, LocalBestResponse, local_best_response
from equipoise.measure.reference import Referenced, measure_by_reference
from equipoise.tree.betting_tree import build_tree
from equipoise.tree.game_report import menu_of

METHODS = ("auto", "exact", "lbr")


def measure_agent(
    what: Measurable,
    *,
    game: str | GameRules = "",
    menu: str | None = None,
    current: bool = False,
    method: str = "auto",
    sample_flops: int | None = None,
    out: str | Path | None = None,
    reference: str | None = None,
    reference_flops: str | Path | None = None,
    hands: int | None = None,
    minutes: float | None = None,
    bets: Bets | None = None,
    from_street: int | str | None = None,
    holes: int | None = None,
    seed: int | None = None,
    threads: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
) -> Exploitability | Referenced | LocalBestResponse:
    """How exploitable an agent is: a run, a strategy file, a named one, an agent, or a function of a view.

    `current` asks for a run's current strategy instead of its average; `device` is where its networks run (cpu, cuda).

    `exact` is the best response in the agent's own tree (`exploitability`: `sample_flops`, `out`); `lbr` a lower bound
    in the real game (`local_best_response`: `hands`, `minutes`, `bets`, `from_street`, `holes`). `auto` is exact
    where all boards can be walked at once, or where flops are sampled or kept in a file, else `lbr`. With a
    `reference`, both are measured on the same sample of flops (`measure_by_reference`). `seed` is that of the sample or
    the hands (default: 1). Options of the other method are refused.
    """
    if method not in METHODS:
        raise InputError(f"unknown method {shown(method)}", remedy=f"use {', '.join(METHODS)}")
    if current:
        what = _with_option(what, "strategy=current", "the current strategy of an agent", "name a run")
    if device is not None:
        what = _with_option(what, f"device={device}", "a device for an agent", "name a run of networks")
    if reference_flops is not None and reference is None:
        raise InputError("flops of a reference, and no reference", remedy="name it")
    by_flops = any(option is not None for option in (sample_flops, out, reference))
    if method == "auto":
        method = "exact" if by_flops or is_small(*load_agent(what, game, menu)[1:]) else "lbr"
    if method == "lbr":
        if by_flops:
            raise InputError("flops sampled or kept for lbr", remedy="leave that out, or use exact")
        player = as_agent(what, game, menu)  # type: ignore[arg-type]
        if bets is not None and player.rules.limit:
            raise InputError(f"{player.rules.name} is a limit game: its bets are fixed", remedy="leave out the bets")
        return local_best_response(
            player,
            hands=hands,
            minutes=minutes,
            bets=(1.0, ALL_IN) if bets is None else bets,
            from_street=0 if from_street is None else from_street,
            holes=holes,
            seed=1 if seed is None else seed,
            threads=threads,
            progress=progress,
        )
    if any(option is not None for option in (hands, minutes, bets, from_street, holes)):
        raise InputError(
            "hands, minutes, bets, holes or a street for an exact measurement", remedy="use the method lbr"
        )
    if sample_flops is None and seed is not None:
        raise InputError("a seed for an exact measurement", remedy="leave it out: nothing is drawn at random")
    seed = 1 if seed is None else seed
    if reference is not None:
        if not isinstance(what, str):
            raise InputError("a reference for an agent without a name", remedy="name a run or a strategy file")
        if sample_flops is None:
            raise InputError("a reference without a sample", remedy="say how many flops to sample")
        return measure_by_reference(
            what, reference, game=game, menu=menu, sample_flops=sample_flops, out=out, reference_flops=reference_flops,
            seed=seed, threads=threads, progress=progress,
        )  # fmt: skip
    agent, rules, own_menu = load_agent(what, game, menu)
    return exploitability(
        rules, agent, menu=own_menu, sample_flops=sample_flops, seed=seed, threads=threads, out=out,
        progress=stage(progress, "best response"),
    )  # fmt: skip


def _with_option(what: Measurable, option: str, refused: str, remedy: str) -> str:
    """A name with one more option; an agent has none."""
    if not isinstance(what, str):
        raise InputError(refused, remedy=remedy)
    return what + ("&" if "?" in what else "?") + option


def is_small(rules: GameRules, menu: BetMenu | str | None = None) -> bool:
    """Whether the exact best response can walk all boards at once."""
    if rules.rounds == 1:
        return True
    tree = build_tree(rules, menu_of(rules, menu))
    try:
        return not Measurement(rules, CardBlindStrategy("uniform"), tree, 1).is_large
    except InputError:  # too many showdowns of an early all-in
        return False
