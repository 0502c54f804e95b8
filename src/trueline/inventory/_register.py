"""Make the environment known to gymnasium, which is imported here."""

from __future__ import annotations

import gymnasium

ID = "trueline/PerishableInventory-v0"

if ID not in gymnasium.registry:
    gymnasium.register(id=ID, entry_point="trueline.inventory._environment:PerishableInventoryEnv")
