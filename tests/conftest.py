"""Settings for all tests."""

from hypothesis import settings

# The same examples on every machine, however slow it is.
settings.register_profile("trueline", deadline=None, derandomize=True)
settings.load_profile("trueline")
