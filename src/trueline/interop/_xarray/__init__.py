"""Support of xarray and arviz."""
