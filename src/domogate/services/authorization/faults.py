"""Errors of OAuth 2.0 and OpenID Connect."""

from enum import StrEnum


class OAuthError(StrEnum):
    """Error codes. They are from RFC 6749 §4.1.2.1 and §5.2, unless a comment names another source."""

    INVALID_REQUEST = "invalid_request"
    INVALID_CLIENT = "invalid_client"
    INVALID_GRANT = "invalid_grant"
    INVALID_SCOPE = "invalid_scope"
    UNAUTHORIZED_CLIENT = "unauthorized_client"
    UNSUPPORTED_GRANT_TYPE = "unsupported_grant_type"
    UNSUPPORTED_RESPONSE_TYPE = "unsupported_response_type"
    ACCESS_DENIED = "access_denied"
    # OpenID Connect Core §3.1.2.6
    LOGIN_REQUIRED = "login_required"
    CONSENT_REQUIRED = "consent_required"
    REQUEST_NOT_SUPPORTED = "request_not_supported"
    REQUEST_URI_NOT_SUPPORTED = "request_uri_not_supported"
    REGISTRATION_NOT_SUPPORTED = "registration_not_supported"
    # RFC 7009 §2.2.1
    UNSUPPORTED_TOKEN_TYPE = "unsupported_token_type"
    # RFC 6750 §3.1
    INVALID_TOKEN = "invalid_token"
    INSUFFICIENT_SCOPE = "insufficient_scope"


class OAuthFault(Exception):
    """The request is refused, and this error is sent to the application.

    The description is printable ASCII text without quotes and backslashes (RFC 6749 §5.2).
    """

    def __init__(self, error: OAuthError, description: str) -> None:
        super().__init__(f"{error}: {description}")
        self.error = error
        self.description = description


class ClientThrottled(Exception):
    """The request is refused, because there were too many wrong client secrets. The application must wait for `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"wait for {seconds} s")
        self.seconds = seconds
