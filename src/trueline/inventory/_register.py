"""Registration of the environment with gymnasium."""

from __future__ import annotations

import gymnasium

ID = "trueline/PerishableInventory-v0"


def register() -> None:
    """Make the environment known to ``gymnasium.make``."""
    if ID not in gymnasium.registry:
        entry_point = "trueline.inventory._environment:PerishableInventoryEnv"
        gymnasium.register(id=ID, entry_point=entry_point)
