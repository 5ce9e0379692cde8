"""Builds the app of one of our own surfaces."""

from typing import TypeVar

from domogate import __version__
from domogate.http_api.app import SurfaceApp
from domogate.http_api.credentials import Credentials
from domogate.http_api.operations import Surface
from domogate.settings import Settings

S = TypeVar("S")
C = TypeVar("C")


def serve_surface(settings: Settings, surface: Surface, services: S, credentials: Credentials[C]) -> SurfaceApp[S, C]:
    base_url, max_body = settings.base_url, settings.max_body
    return SurfaceApp(surface, services, credentials, base_url=base_url, version=__version__, max_body=max_body)
