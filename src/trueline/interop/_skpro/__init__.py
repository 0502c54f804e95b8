"""Support of skpro."""
