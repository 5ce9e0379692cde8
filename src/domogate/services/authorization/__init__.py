"""OAuth 2.0 and OpenID Connect: client authentication, consent, and the exchange of codes and refresh tokens for tokens.

One call of the store must look up and consume a code or a refresh token. The library Authlib would need several calls, so this
code does not use it (Decision 0026).
"""

from domogate.services.authorization.authorization import Authorization
from domogate.services.authorization.faults import ClientThrottled, OAuthError, OAuthFault
from domogate.services.authorization.hints import Hint
from domogate.services.authorization.tokens import Lifetimes, TokenSet

__all__ = ["Authorization", "ClientThrottled", "Hint", "Lifetimes", "OAuthError", "OAuthFault", "TokenSet"]
