"""All settings of the gateway: their values, descriptions and checks, and how they are loaded."""

from domogate.settings.cluster import check_cluster
from domogate.settings.exposure import check_exposure, describe_unknown_proxy
from domogate.settings.loading import BadSettings, Mistake, load_settings
from domogate.settings.values import Settings

__all__ = ["BadSettings", "Mistake", "Settings", "check_cluster", "check_exposure", "describe_unknown_proxy", "load_settings"]
