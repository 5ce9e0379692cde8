"""How an application is let in: clients prove who they are, people consent, codes and refresh tokens become tokens.

The grants are our own (Decision 0026): every code and refresh token is consumed by one call of the store.
"""

from domogate.services.authorization.authorization import Authorization
from domogate.services.authorization.faults import OAuthError, OAuthFault
from domogate.services.authorization.hints import Hint
from domogate.services.authorization.tokens import TokenSet

__all__ = ["Authorization", "Hint", "OAuthError", "OAuthFault", "TokenSet"]
