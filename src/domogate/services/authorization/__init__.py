"""OAuth 2.0 and OpenID Connect: client authentication, consent, and the exchange of codes and refresh tokens for tokens.

The implementation is our own (Decision 0026). So one call of the store looks up and consumes a code or a refresh token.
"""

from domogate.services.authorization.authorization import Authorization
from domogate.services.authorization.faults import ClientThrottled, OAuthError, OAuthFault
from domogate.services.authorization.hints import Hint
from domogate.services.authorization.tokens import Lifetimes, TokenSet

__all__ = ["Authorization", "ClientThrottled", "Hint", "Lifetimes", "OAuthError", "OAuthFault", "TokenSet"]
