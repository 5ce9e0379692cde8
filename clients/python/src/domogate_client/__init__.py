"""The Python client of Domogate: `Client` blocks, `AsyncClient` awaits."""

from domogate_client._operation import RawContent
from domogate_client._version import __version__
from domogate_client.client import AsyncClient, Client
from domogate_client.errors import DomogateError, Refused
from domogate_client.login import begin_login, finish_login, finish_login_async, log_in, log_in_async
from domogate_client.retries import Retries
from domogate_client.tokens import FileTokenStore, Session, Tokens, TokenStore

__all__ = [
    "AsyncClient",
    "Client",
    "DomogateError",
    "FileTokenStore",
    "RawContent",
    "Refused",
    "Retries",
    "Session",
    "TokenStore",
    "Tokens",
    "__version__",
    "begin_login",
    "finish_login",
    "finish_login_async",
    "log_in",
    "log_in_async",
]
