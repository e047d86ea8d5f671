from collections.abc import Callable
from importlib import import_module

from search.types import SearchRun, StrategyResult

STRATEGIES = {
    "hierarchical": "search.strategies.hierarchical",
    "direct": "search.strategies.direct",
    "hybrid": "search.strategies.hybrid",
}


def strategy(name: str) -> Callable[[SearchRun], StrategyResult]:
    run: Callable[[SearchRun], StrategyResult] = import_module(STRATEGIES[name]).run
    return run
