"""Tables of features of any kind, read as numbers."""

from trueline.features._reader import FeatureReader, as_features

__all__ = ["FeatureReader", "as_features"]
