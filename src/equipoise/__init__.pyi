"""The names of the library by topic, each listed once: `__init__.py` and the reference (docs/api.md) read them here."""

# Games: rules, bets and the betting tree
from .games.rules import GameRules as GameRules
from .games.gamedef import load_game as load_game
from .games.gamedef import read_gamedef as read_gamedef
from .games.gamedef import preset_names as preset_names
from .games.bet_menu import BetMenu as BetMenu
from .games.bet_menu import load_menu as load_menu
from .games.betting_state import FOLD as FOLD
from .games.betting_state import CALL as CALL
from .games.betting_state import BettingState as BettingState
from .games.betting_state import Deal as Deal
from .games.betting_state import Legal as Legal
from .tree.betting_tree import BettingTree as BettingTree
from .tree.betting_tree import build_tree as build_tree
from .tree.game_report import GameReport as GameReport
from .tree.game_report import game_report as game_report
from .tree.game_report import StreetReport as StreetReport

# Cards: hands, ranges and equity
from .cards.deck import Deck as Deck
from .cards.ranges import Range as Range
from .cards.equity import Equity as Equity
from .cards.equity import equity as equity
from .cards.matchups import equities_against as equities_against
from .cards.hand_ranks import Ranker as Ranker
from .cards.isomorphism import HandIndexer as HandIndexer

# Abstraction: which hands are played alike
from .abstraction.maps.bucket_map import BucketMap as BucketMap
from .runs.abstraction import build_abstraction as build_abstraction
from .runs.abstraction import abstraction_bucket as abstraction_bucket
from .abstraction.report.lookup import HandBucket as HandBucket
from .runs.abstraction import abstraction_report as abstraction_report
from .runs.abstraction import AbstractionFiles as AbstractionFiles
from .experiments.lab.compare import compare_abstractions as compare_abstractions
from .experiments.lab.comparison import AbstractionComparison as AbstractionComparison

# Spots: postflop situations and small games, solved
from .spots.spot import Spot as Spot
from .spots.spot import load_spot as load_spot
from .spots.spot import read_spot as read_spot
from .spots.solve import solve as solve
from .spots.solve import solve_cost as solve_cost
from .spots.cost import SolveCost as SolveCost
from .spots.progress import SolveProgress as SolveProgress
from .spots.solution import Solution as Solution
from .spots.solution import NodeView as NodeView
from .spots.report import SpotReport as SpotReport
from .spots.report import ReportRow as ReportRow
from .spots.report import runout_report as runout_report
from .spots.report import flop_report as flop_report

# Training: from a recipe to a strategy
from .runs.recipe import Recipe as Recipe
from .runs.recipe import load_recipe as load_recipe
from .runs.recipe import recipe_names as recipe_names
from .training.train import train as train
from .training.loop import Run as Run
from .runs.progress import TrainingProgress as TrainingProgress
from .runs.cost import Cost as Cost
from .cluster.plan import Machines as Machines
from .cluster.plan import ClusterPlan as ClusterPlan
from .cluster.plan import plan_cluster as plan_cluster
from .strategy.file import StrategyFile as StrategyFile
from .strategy.file import load_strategy as load_strategy
from .runs.strategy import run_strategy as run_strategy
from .strategy.show import show_strategy as show_strategy
from .strategy.show import StrategyView as StrategyView
from .strategy.profile import Profile as Profile
from .strategy.packed import Packed as Packed
from .agents.packing import pack_strategy as pack_strategy

# Solvers: iterations under your own control
from .solvers.registry import make_solver as make_solver
from .solvers.solver import Solver as Solver
from .solvers.cfr_br.full import CFRBR as CFRBR
from .solvers.cfr_br.full import AbstractCFR as AbstractCFR
from .solvers.cfr_br.hybrid import HybridCFRBR as HybridCFRBR
from .tree.infosets import SlotLayout as SlotLayout

# Agents: what plays
from .agents.agent import Agent as Agent
from .agents.agent import View as View
from .agents.agent import FunctionAgent as FunctionAgent
from .agents.agent import Track as Track
from .agents.named import load_player as load_player
from .agents.postprocess import PostProcess as PostProcess

# Measures: how exploitable an agent is
from .measure.agent import measure_agent as measure_agent
from .measure.reference import Referenced as Referenced
from .measure.best_response import Exploitability as Exploitability
from .measure.best_response import exploitability as exploitability
from .measure.lbr import LocalBestResponse as LocalBestResponse
from .measure.lbr import local_best_response as local_best_response

# Play: matches, logs, people and other programs
from .play.match import MatchResult as MatchResult
from .play.match import match as match
from .play.tournament import Tournament as Tournament
from .play.tournament import round_robin as round_robin
from .play.logs import Replay as Replay
from .play.logs import replay as replay
from .play.winnings import Winnings as Winnings
from .play.terminal import play_terminal as play_terminal
from .play.acpc.client import play_at as play_at
from .play.acpc.client import ClientResult as ClientResult
from .play.acpc.dealer import deal_match as deal_match
from .play.acpc.dealer import DealerResult as DealerResult
from .play.slumbot.client import play_slumbot as play_slumbot
from .play.slumbot.server import SlumbotTable as SlumbotTable
from .play.slumbot.server import SlumbotServer as SlumbotServer

# Errors
from .core.errors import InputError as InputError

__version__: str
__all__: list[str]
