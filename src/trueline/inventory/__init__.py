"""Orders of a perishable item, planned with forecasts of its demand (section 4.5 of the paper).

The environment for reinforcement learning needs gymnasium: ``pip install gymnasium``.
If gymnasium is installed, importing this module registers ``trueline/PerishableInventory-v0``.
"""

from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from trueline._messages import EXTRAS, library
from trueline.inventory._planner import Plan, plan
from trueline.inventory._policies import Known, Newsvendor, Planner, Policy, SeasonalNaive
from trueline.inventory._simulation import Oracle, Simulation, simulate
from trueline.inventory._store import Step, Store

if TYPE_CHECKING:
    from trueline.inventory._environment import PerishableInventoryEnv as PerishableInventoryEnv

__all__ = [
    "Known",
    "Newsvendor",
    "Oracle",
    "Plan",
    "Planner",
    "Policy",
    "SeasonalNaive",
    "Simulation",
    "Step",
    "Store",
    "plan",
    "simulate",
]

if find_spec("gymnasium") is not None:
    __all__ += ["PerishableInventoryEnv"]
    with suppress(ImportError):  # if gymnasium is broken, using the environment says so
        import gymnasium as _gymnasium

        if "trueline/PerishableInventory-v0" not in _gymnasium.registry:
            _gymnasium.register(
                id="trueline/PerishableInventory-v0",
                entry_point="trueline.inventory._environment:PerishableInventoryEnv",
            )


def __getattr__(name: str) -> object:
    if name != "PerishableInventoryEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    library("gymnasium", "the environment", EXTRAS["inventory"])
    from trueline.inventory._environment import PerishableInventoryEnv

    return PerishableInventoryEnv
