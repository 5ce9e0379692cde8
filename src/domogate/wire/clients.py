"""The JSON model of registered applications, for developers and for operators."""

from domogate.wire import OutputModel


class RegistrationOut(OutputModel, frozen=True):
    """An application as it is registered, without its secret."""

    id: str
    name: str
    confidential: bool
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...]
    origins: tuple[str, ...]
    scopes: tuple[str, ...]
