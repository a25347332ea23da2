"""Local best response under the settings of Lisy and Bowling (2017), table 3, with the published agents beside ours.

A setting says what the responder may do on each street: C call only, fc fold and call, fcpa also bet the pot and
all-in, 56 also bet 0.05 x 1.15^k of the pot, k from 0 to 55. The published values are those that Moravcik and others
(2017, DeepStack, table 3) repeat; two settings have none. Our agent is the one that ships: its blueprint, with search
on the river, and with search from the turn. Search solves again for each bet that is not on its menu, so settings with
56 bets on a street that it searches are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from equipoise.agents.agent import Agent
from equipoise.agents.named import load_player
from equipoise.core.progress import Say
from equipoise.experiments.curves import remembered
from equipoise.games.bet_menu import ALL_IN, Size
from equipoise.measure.lbr import local_best_response
from equipoise.measure.report import write_report

NAME = "lbr-table"
ABOUT = "local best response to the shipped agent, with and without search (20 minutes on two cores)"
AGENT = "nolimit-strong"
SEED = 1
LONGER = 3  # times the minutes, for agents that search
AGENTS = {"blueprint": "", "search=river": "?search=river", "search=turn": "?search=turn"}
SEARCHED = {"search=river": 3, "search=turn": 2}  # the first street that an agent solves
PEERS = ("Hyperborean 2014", "Slumbot 2016", "Act1 2016", "DeepStack")
BETS: dict[str, tuple[Size, ...]] = {
    "fc": (),
    "fcpa": (1.0, ALL_IN),
    "56": tuple(0.05 * 1.15**k for k in range(56)),
}


class Setting(NamedTuple):
    """A row of the table: what the responder may do on each street, and what it won, ± 95%, from PEERS."""

    streets: tuple[str, str, str, str]
    published: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        return ", ".join(self.streets)

    @property
    def from_street(self) -> int:
        """The first street on which the responder has a choice."""
        return next(street for street, allowed in enumerate(self.streets) if allowed != "C")

    @property
    def bets(self) -> list[tuple[Size, ...]]:
        """The bets on each street from there on."""
        return [BETS[allowed] for allowed in self.streets[self.from_street :]]

    def includes(self, agent: str) -> bool:
        """Whether an agent can be measured: a search would solve once for each of 56 bets."""
        return "56" not in self.streets[SEARCHED.get(agent, len(self.streets)) :]


SETTINGS = (
    Setting(("fc", "fc", "fc", "fc"), ((721, 56), (522, 50), (407, 47), (-428, 87))),
    Setting(("C", "C", "fc", "fc")),
    Setting(("C", "C", "fcpa", "fcpa"), ((3852, 141), (4020, 115), (2597, 140), (-383, 219))),
    Setting(("C", "C", "56", "56"), ((4675, 152), (3763, 104), (3302, 122), (-775, 255))),
    Setting(("C", "56", "fc", "fc"), ((983, 95), (1227, 79), (847, 78), (-602, 214))),
    Setting(("56", "56", "56", "56")),
)


def run(out: Path, full: bool, say: Say) -> dict[str, Any]:
    """Fill the table; `full` takes twenty times as long. A stopped run continues."""
    minutes = 10.0 if full else 0.5
    folder = out / f"{NAME}-{minutes:g}-minutes"
    folder.mkdir(parents=True, exist_ok=True)
    agents = {name: load_player(f"{AGENT}{options}") for name, options in AGENTS.items()}
    rows = [lbr_row(setting, agents, minutes, folder, say) for setting in SETTINGS]
    summary = {"experiment": NAME, "agent": AGENT, "minutes": minutes, "seed": SEED}
    write_report(out / NAME, summary, rows, _draw)
    return summary | {"table": rows}


def lbr_row(setting: Setting, agents: dict[str, Agent], minutes: float, folder: Path, say: Say) -> dict[str, Any]:
    """A row of the table: mbb/hand that the responder wins from ours and from the published agents, ± 95%."""
    row: dict[str, Any] = {"setting": setting.name}
    for name, agent in agents.items():
        found: dict[str, Any] = {"lbr": None, "ci95": None, "hands": None}
        if setting.includes(name):
            path = folder / f"{setting.name} {name}".replace(", ", "-").replace(" ", "-")
            time = minutes * (LONGER if name in SEARCHED else 1)
            found = remembered(path, lambda agent=agent, time=time: measure(setting, agent, time))  # type: ignore[misc]
            say(f"{setting.name}, {name}: {found['lbr']:,.0f} ± {found['ci95']:,.0f}, {found['hands']:,} hands")
        row |= {name: found["lbr"], f"± {name}": found["ci95"], f"hands {name}": found["hands"]}
    for peer, (value, width) in zip(PEERS, setting.published or ((None, None),) * len(PEERS), strict=True):
        row |= {peer: value, f"± {peer}": width}
    return row


def measure(setting: Setting, agent: Agent, minutes: float) -> dict[str, Any]:
    """What local best response wins from an agent, in mbb/hand: a lower bound on exploitability."""
    found = local_best_response(agent, minutes=minutes, from_street=setting.from_street, bets=setting.bets, seed=SEED)
    return {"lbr": found.lbr, "ci95": found.ci95, "hands": found.hands}


def compared(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The blueprint beside the strongest published blueprint, search beside DeepStack, in mbb/hand ± 95%."""
    rows = []
    for row in summary["table"]:
        for name in AGENTS:
            peer = PEERS[-1] if name in SEARCHED else PEERS[1]
            if row[name] is not None:
                label = f"{row['setting']}: {name}, {peer}"
                rows.append({"name": label, "published": _cell(row, peer), "ours": _cell(row, name)})
    return rows


def _cell(row: dict[str, Any], name: str) -> str | None:
    """A value with its interval."""
    return None if row[name] is None else f"{row[name]:,.0f} ± {row[f'± {name}']:,.0f}"


def _draw(axes: Any, rows: list[dict[str, Any]]) -> None:
    for at, name in enumerate((*AGENTS, *PEERS)):
        shown, ours, colour = [row for row in rows if row[name] is not None], name in AGENTS, f"C{at}"
        axes.errorbar(
            [rows.index(row) + 0.1 * (at - 3) for row in shown], [row[name] for row in shown],
            yerr=[row[f"± {name}"] for row in shown], fmt="o" if ours else "s", capsize=2, color=colour,
            markerfacecolor=colour if ours else "white", label=name if ours else f"{name}, published",
        )  # fmt: skip
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [row["setting"] for row in rows], fontsize=7)
    axes.set_ylabel("won by local best response, mbb/hand")
    axes.set_title("Local best response by setting (preflop, flop, turn, river)")
    axes.legend(fontsize=7)
