"""Settings for the whole suite."""

from hypothesis import settings

# A busy machine is no error: properties have no time limit.
settings.register_profile("house", deadline=None)
settings.load_profile("house")
