"""Describes the gateway's identity provider to applications that know only the URL of the issuer."""

from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.language import LANGUAGES
from domogate.auth.responses import HANDLERS, public_json
from domogate.domain.people import KNOWN_SCOPES, GrantType
from domogate.ports import Signer

OPENID = "openid-configuration"
OAUTH = "oauth-authorization-server"

_SECRET_METHODS = ["client_secret_basic", "client_secret_post"]
_METHODS = [*_SECRET_METHODS, "none"]


class Discovery:
    """Serves the document that describes the endpoints of /auth. It follows OpenID Connect Discovery 1.0 §3 and RFC 8414 §2."""

    def __init__(self, signer: Signer, issuer: str, *, implicit_enabled: bool) -> None:
        self._signer = signer
        self.issuer = issuer
        self._implicit_enabled = implicit_enabled

    async def serve(self, _request: Request) -> Response:
        return public_json(await self.metadata())

    async def metadata(self) -> dict[str, Any]:
        # List the algorithms of all published keys: after a change of the algorithm, tokens of both algorithms are valid for
        # some time.
        algorithms = sorted({key["alg"] for key in (await self._signer.jwks())["keys"]})
        implicit = self._implicit_enabled
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/jwks",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "introspection_endpoint": f"{self.issuer}/introspect",
            "end_session_endpoint": f"{self.issuer}/logout",
            "scopes_supported": list(KNOWN_SCOPES),
            "response_types_supported": ["code", *(["id_token", "id_token token"] if implicit else [])],
            "response_modes_supported": ["query", "fragment"],
            "grant_types_supported": [grant.value for grant in GrantType if implicit or grant is not GrantType.IMPLICIT],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
            "token_endpoint_auth_methods_supported": _METHODS,
            "revocation_endpoint_auth_methods_supported": _METHODS,
            "introspection_endpoint_auth_methods_supported": _SECRET_METHODS,
            "code_challenge_methods_supported": ["S256"],
            "prompt_values_supported": ["none", "login", "consent", "select_account"],
            "claim_types_supported": ["normal"],
            "claims_supported": [
                *("iss", "sub", "aud", "exp", "iat", "jti", "auth_time", "nonce", "at_hash", "amr"),
                *("name", "locale", "email", "email_verified", "scope", "grant"),
            ],
            "authorization_response_iss_parameter_supported": True,
            # These members are always sent, because the two standards have different defaults for missing members.
            "claims_parameter_supported": False,
            "request_parameter_supported": False,
            "request_uri_parameter_supported": False,
            "require_request_uri_registration": False,
            "ui_locales_supported": list(LANGUAGES),
        }

    def routes(self, prefix: str) -> list[Route]:
        """Return the routes of the documents of OpenID Connect and OAuth. Their paths begin with the path of the issuer (OpenID
        Connect Discovery 1.0 §4).
        """
        return [Route(f"{prefix}/.well-known/{name}", self.serve, methods=["GET"]) for name in (OPENID, OAUTH)]


def build_well_known(discovery: Discovery, prefix: str) -> Starlette:
    """Build the app at /.well-known of the host.

    RFC 8414 §3.1 puts the well-known name before the path of the issuer. A proxy that serves the gateway below a path may
    remove that path or keep it; both work.
    """
    paths = dict.fromkeys((prefix, urlsplit(discovery.issuer).path))
    routes = [
        Route(f"/.well-known/{name}{path}", discovery.serve, methods=["GET"]) for name in (OAUTH, OPENID) for path in paths
    ]
    app = Starlette(routes=routes, exception_handlers=HANDLERS)
    app.router.redirect_slashes = False
    return app
