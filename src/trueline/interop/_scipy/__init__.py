"""Support of ``scipy.stats``."""
