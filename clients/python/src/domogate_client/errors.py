"""The errors that the client raises. `domogate_client.faults` has a class for each fault of the gateway."""

from typing import ClassVar


class DomogateError(Exception):
    """The base class of all errors of this package. No error contains a token, a key or a secret."""

    may_be_done: bool = False
    """Whether the gateway may have executed the request, in any attempt. It is False for requests that only read."""


class NoAnswer(DomogateError):
    """No complete answer came."""

    def __init__(self, message: str, *, may_be_done: bool) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done


class DeadlineExceeded(NoAnswer):
    """The deadline of the call passed."""


class UnexpectedAnswer(DomogateError):
    """The answer does not have the form that this version of the client expects, or it is too large."""


class LoginFailed(DomogateError):
    """The login or the refresh of tokens failed. `error` is the code of OAuth 2.0, for example `access_denied`."""

    def __init__(self, error: str, description: str = "") -> None:
        super().__init__(f"{error}: {description}" if description else error)
        self.error = error
        self.description = description


class LoginRequired(LoginFailed):
    """There are no tokens that still work. The person must log in again."""


class StreamEnded(DomogateError):
    """The gateway ended an event stream, and a new stream needs a change first. `code` is the reason, for example `key`."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class WebhookNotVerified(DomogateError):
    """A delivery is not signed with the secret of the webhook, or is too old."""


class Refused(DomogateError):
    """The gateway refused a request. Its classes in `domogate_client.faults` say why.

    `code` is the number of the fault, or 0 if the answer does not name one fault.
    """

    code: ClassVar[int] = 0

    def __init__(
        self,
        message: str,
        *,
        status: int,
        operation: str = "",
        request_id: str = "",
        reason: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.operation = operation
        self.request_id = request_id
        """The value of X-Request-Id. Give it to the operator of the gateway when you ask about an error."""
        self.reason = reason
        """A word that does not change, if the answer has one: `camera_off`, or the end of a problem's type: `used`."""
        self.retry_after = retry_after

    def __str__(self) -> str:
        where = f" [{self.operation}, status {self.status}, request {self.request_id}]"
        return f"{self.message}{where}"


class CredentialsRefused(Refused):
    """The subscription key or the token is not accepted (401)."""


class AccountBlocked(Refused):
    """The person must do something on the account page first (469, 470)."""


class TooManyRequests(Refused):
    """A rate or a quota is used up. `retry_after` is the number of seconds to wait."""

    code = 1004


class Forbidden(Refused):
    """The person or the application has no right to do this."""


class NotFound(Refused):
    """Something that the request names does not exist, or the person cannot see it."""


class Conflict(Refused):
    """The request conflicts with the present state, for example because a ticket was used before."""


class InvalidRequest(Refused):
    """The request is not as the operation needs it."""


class DeviceFailed(Refused):
    """The device did not do what was asked."""


class GatewayFailed(Refused):
    """The gateway or a server behind it failed."""


class Unavailable(GatewayFailed):
    """The gateway cannot answer now (503). `retry_after` is the number of seconds to wait, if the answer has it."""
