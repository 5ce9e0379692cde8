"""For all tests: a slow moment of a busy machine is not a failure."""

from hypothesis import HealthCheck, settings

settings.register_profile("domogate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("domogate")
