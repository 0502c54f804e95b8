"""Support of pandas, polars, pyarrow and dicts."""
