"""Every run draws the same examples, and takes as long as the machine needs."""

from hypothesis import settings

settings.register_profile("detreduce", deadline=None, derandomize=True)
settings.load_profile("detreduce")
