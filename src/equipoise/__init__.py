"""Equipoise builds heads-up hold'em agents, proves how exploitable they are, and plays them.

The library behind the command line: each command is one call of a function here. Names are imported when they are
first used, so that `import equipoise` is instant.

>>> import equipoise
>>> equipoise.load_game("leduc").deck.size
6
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.abstraction.maps.bucket_map import BucketMap as BucketMap
    from equipoise.abstraction.report.lookup import HandBucket as HandBucket
    from equipoise.agents.agent import FunctionAgent as FunctionAgent
    from equipoise.agents.agent import View as View
    from equipoise.agents.card_blind import CardBlindStrategy as CardBlindStrategy
    from equipoise.agents.named import load_player as load_player
    from equipoise.agents.postprocess import PostProcess as PostProcess
    from equipoise.agents.postprocess import process_profile as process_profile
    from equipoise.cards.deck import Deck as Deck
    from equipoise.cards.equity import Equity as Equity
    from equipoise.cards.equity import equity as equity
    from equipoise.cards.hand_ranks import Ranker as Ranker
    from equipoise.cards.isomorphism import HandIndexer as HandIndexer
    from equipoise.cards.matchups import equities_against as equities_against
    from equipoise.cards.ranges import Range as Range
    from equipoise.core.errors import InputError as InputError
    from equipoise.experiments.lab.compare import compare_abstractions as compare_abstractions
    from equipoise.experiments.lab.comparison import AbstractionComparison as AbstractionComparison
    from equipoise.games.bet_menu import BetMenu as BetMenu
    from equipoise.games.bet_menu import load_menu as load_menu
    from equipoise.games.betting_state import BettingState as BettingState
    from equipoise.games.betting_state import Deal as Deal
    from equipoise.games.gamedef import load_game as load_game
    from equipoise.games.gamedef import preset_names as preset_names
    from equipoise.games.gamedef import read_gamedef as read_gamedef
    from equipoise.games.rules import GameRules as GameRules
    from equipoise.measure.agent import measure_agent as measure_agent
    from equipoise.measure.aivat import Aivat as Aivat
    from equipoise.measure.best_response import Exploitability as Exploitability
    from equipoise.measure.best_response import exploitability as exploitability
    from equipoise.measure.flop_sample import FlopSample as FlopSample
    from equipoise.measure.lbr import LocalBestResponse as LocalBestResponse
    from equipoise.measure.lbr import local_best_response as local_best_response
    from equipoise.measure.reference import Referenced as Referenced
    from equipoise.measure.reference import measure_by_reference as measure_by_reference
    from equipoise.play.acpc.client import ClientResult as ClientResult
    from equipoise.play.acpc.client import play_at as play_at
    from equipoise.play.acpc.dealer import DealerResult as DealerResult
    from equipoise.play.acpc.dealer import deal_match as deal_match
    from equipoise.play.logs import LogWriter as LogWriter
    from equipoise.play.logs import Replay as Replay
    from equipoise.play.logs import replay as replay
    from equipoise.play.match import MatchResult as MatchResult
    from equipoise.play.match import match as match
    from equipoise.play.slumbot.client import play_slumbot as play_slumbot
    from equipoise.play.slumbot.server import SlumbotServer as SlumbotServer
    from equipoise.play.slumbot.server import SlumbotTable as SlumbotTable
    from equipoise.play.terminal import play_terminal as play_terminal
    from equipoise.play.tournament import Tournament as Tournament
    from equipoise.play.tournament import round_robin as round_robin
    from equipoise.play.tournament import tournament as tournament
    from equipoise.play.winnings import Winnings as Winnings
    from equipoise.runs.abstraction import abstraction_bucket as abstraction_bucket
    from equipoise.runs.abstraction import abstraction_report as abstraction_report
    from equipoise.runs.abstraction import build_abstraction as build_abstraction
    from equipoise.runs.recipe import Recipe as Recipe
    from equipoise.runs.recipe import load_recipe as load_recipe
    from equipoise.runs.strategy import run_strategy as run_strategy
    from equipoise.solvers.cfr_br.full import CFRBR as CFRBR
    from equipoise.solvers.cfr_br.full import AbstractCFR as AbstractCFR
    from equipoise.solvers.cfr_br.hybrid import HybridCFRBR as HybridCFRBR
    from equipoise.spots.solution import Solution as Solution
    from equipoise.spots.solve import solve as solve
    from equipoise.spots.spot import Spot as Spot
    from equipoise.spots.spot import read_spot as read_spot
    from equipoise.strategy.file import StrategyFile as StrategyFile
    from equipoise.strategy.file import load_strategy as load_strategy
    from equipoise.strategy.show import show_strategy as show_strategy
    from equipoise.training.loop import Run as Run
    from equipoise.training.train import train as train
    from equipoise.tree.betting_tree import BettingTree as BettingTree
    from equipoise.tree.betting_tree import build_tree as build_tree
    from equipoise.tree.game_report import GameReport as GameReport
    from equipoise.tree.game_report import game_report as game_report
    from equipoise.tree.infosets import SlotLayout as SlotLayout
    from equipoise.tree.trunk import TrunkMemory as TrunkMemory
    from equipoise.tree.trunk import trunk_memory as trunk_memory

_HOME = {
    "InputError": "core.errors",
    "BetMenu": "games.bet_menu",
    "load_menu": "games.bet_menu",
    "BucketMap": "abstraction.maps.bucket_map",
    "HandBucket": "abstraction.report.lookup",
    "abstraction_bucket": "runs.abstraction",
    "build_abstraction": "runs.abstraction",
    "FunctionAgent": "agents.agent",
    "View": "agents.agent",
    "CardBlindStrategy": "agents.card_blind",
    "PostProcess": "agents.postprocess",
    "process_profile": "agents.postprocess",
    "Deck": "cards.deck",
    "Equity": "cards.equity",
    "equity": "cards.equity",
    "Ranker": "cards.hand_ranks",
    "HandIndexer": "cards.isomorphism",
    "equities_against": "cards.matchups",
    "Range": "cards.ranges",
    "AbstractionComparison": "experiments.lab.comparison",
    "compare_abstractions": "experiments.lab.compare",
    "load_game": "games.gamedef",
    "preset_names": "games.gamedef",
    "read_gamedef": "games.gamedef",
    "GameRules": "games.rules",
    "BettingState": "games.betting_state",
    "Deal": "games.betting_state",
    "abstraction_report": "runs.abstraction",
    "measure_agent": "measure.agent",
    "Aivat": "measure.aivat",
    "Exploitability": "measure.best_response",
    "exploitability": "measure.best_response",
    "FlopSample": "measure.flop_sample",
    "LocalBestResponse": "measure.lbr",
    "local_best_response": "measure.lbr",
    "Referenced": "measure.reference",
    "measure_by_reference": "measure.reference",
    "train": "training.train",
    "ClientResult": "play.acpc.client",
    "play_at": "play.acpc.client",
    "DealerResult": "play.acpc.dealer",
    "deal_match": "play.acpc.dealer",
    "play_slumbot": "play.slumbot.client",
    "SlumbotServer": "play.slumbot.server",
    "SlumbotTable": "play.slumbot.server",
    "play_terminal": "play.terminal",
    "Winnings": "play.winnings",
    "LogWriter": "play.logs",
    "Replay": "play.logs",
    "replay": "play.logs",
    "MatchResult": "play.match",
    "match": "play.match",
    "Tournament": "play.tournament",
    "round_robin": "play.tournament",
    "tournament": "play.tournament",
    "load_player": "agents.named",
    "CFRBR": "solvers.cfr_br.full",
    "AbstractCFR": "solvers.cfr_br.full",
    "HybridCFRBR": "solvers.cfr_br.hybrid",
    "Recipe": "runs.recipe",
    "load_recipe": "runs.recipe",
    "Run": "training.loop",
    "run_strategy": "runs.strategy",
    "show_strategy": "strategy.show",
    "StrategyFile": "strategy.file",
    "load_strategy": "strategy.file",
    "Solution": "spots.solution",
    "solve": "spots.solve",
    "Spot": "spots.spot",
    "read_spot": "spots.spot",
    "SlotLayout": "tree.infosets",
    "BettingTree": "tree.betting_tree",
    "build_tree": "tree.betting_tree",
    "GameReport": "tree.game_report",
    "game_report": "tree.game_report",
    "TrunkMemory": "tree.trunk",
    "trunk_memory": "tree.trunk",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
    return getattr(import_module(f"equipoise.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
