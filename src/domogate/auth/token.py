"""{auth_url}/token, /revoke, /introspect and /userinfo: endpoints that applications call without a browser."""

from domogate.auth.answers import NO_STORE, bearer_fault_answer, json_answer, no_token_answer
from domogate.auth.forms import MULTIPART, URLENCODED, content_type, once, read_basic, read_pairs
from domogate.common.http_messages import Answer, Request, find_headers, make_answer
from domogate.domain.people import Client, GrantType
from domogate.services.authorization import Authorization, OAuthError, OAuthFault, TokenSet


class TokenEndpoints:
    """The endpoints for applications. Each endpoint accepts a posted form; `userinfo` also accepts GET. The answers are JSON,
    but the answer of `revoke` has no body. All endpoints except `userinfo` raise an error for a refused request. `answer_error`
    makes the answer from this error.
    """

    def __init__(self, authorization: Authorization, *, max_body: int) -> None:
        self._authorization = authorization
        self._max_body = max_body
        self._grants = {
            GrantType.AUTHORIZATION_CODE.value: self._redeem,
            GrantType.REFRESH_TOKEN.value: self._refresh,
        }

    async def token(self, request: Request) -> Answer:
        """Issue tokens for a code or a refresh token (RFC 6749 §3.2).

        Only wrong client secrets are rate limited: a limit for refreshes could log people out.
        """
        form = await self._read_form(request)
        grant_type = _require(form, "grant_type")
        exchange = self._grants.get(grant_type)
        if exchange is None:
            allowed = " or ".join(self._grants)
            raise OAuthFault(OAuthError.UNSUPPORTED_GRANT_TYPE, f"The grant_type must be {allowed}.")
        client = await self._authenticate(request, form)
        return json_answer(200, await exchange(client, form, request.address))

    async def revoke(self, request: Request) -> Answer:
        """Revoke a token (RFC 7009)."""
        form = await self._read_form(request)
        client = await self._authenticate(request, form)
        await self._authorization.inspection.revoke(client, _require(form, "token"), request.address)
        return make_answer(200, b"", NO_STORE)

    async def introspect(self, request: Request) -> Answer:
        """Say whether a token is valid, and what it contains. Only clients with a secret may ask (RFC 7662 §2.1)."""
        form = await self._read_form(request)
        client = await self._authenticate(request, form)
        if not client.confidential:
            raise OAuthFault(OAuthError.INVALID_CLIENT, "Only a client with a secret can introspect tokens.")
        return json_answer(200, await self._authorization.inspection.introspect(client, _require(form, "token")))

    async def userinfo(self, request: Request) -> Answer:
        """Return the claims about the person of a token (OpenID Connect Core §5.3).

        The token is in the header. With POST, it may be in the form instead (RFC 6750 §2).
        """
        try:
            presented = await self._read_bearer(request)
            if presented is None:
                return no_token_answer()
            return json_answer(200, await self._authorization.inspection.read_userinfo(presented))
        except OAuthFault as fault:
            return bearer_fault_answer(fault)

    # --- read ---------------------------------------------------------------------------------------------------------

    async def _read_form(self, request: Request) -> dict[str, str]:
        return once(await read_pairs(request, self._max_body))

    async def _authenticate(self, request: Request, form: dict[str, str]) -> Client:
        """Return the client that sent the request. Raises OAuthFault if the client cannot be authenticated.

        Raises ClientThrottled for a wrong secret after many wrong secrets.

        The client authenticates by HTTP Basic or by form fields, never by both (RFC 6749 §2.3). A public client sends its
        client id in the form.
        """
        basic = read_basic(request)
        client_id, secret = form.get("client_id"), form.get("client_secret")
        if basic is not None:
            if secret is not None or client_id not in (None, basic[0]):
                raise OAuthFault(OAuthError.INVALID_REQUEST, "Authenticate by HTTP Basic or by form fields, not by both.")
            client_id, secret = basic
        if client_id is None:
            raise OAuthFault(OAuthError.INVALID_CLIENT, "The field client_id is missing.")
        return await self._authorization.clients.authenticate(client_id, secret, request.address)

    async def _read_bearer(self, request: Request) -> str | None:
        headers = [value.decode("latin-1") for value in find_headers(request, b"authorization")]
        presented = [header.partition(" ")[2].strip() for header in headers if header.partition(" ")[0].lower() == "bearer"]
        if request.method == "POST" and content_type(request) in (URLENCODED, MULTIPART):
            form = await self._read_form(request)
            presented += [form["access_token"]] if "access_token" in form else []
        if len(presented) > 1 or len(headers) > 1:
            raise OAuthFault(OAuthError.INVALID_REQUEST, "The access token is given more than once.")
        return presented[0] if presented and presented[0] else None

    # --- grants -------------------------------------------------------------------------------------------------------

    async def _redeem(self, client: Client, form: dict[str, str], address: str) -> TokenSet:
        return await self._authorization.exchange.redeem(
            client, _require(form, "code"), form.get("redirect_uri"), form.get("code_verifier"), address
        )

    async def _refresh(self, client: Client, form: dict[str, str], address: str) -> TokenSet:
        return await self._authorization.exchange.refresh(client, _require(form, "refresh_token"), form.get("scope"), address)


def _require(form: dict[str, str], name: str) -> str:
    if name not in form:
        raise OAuthFault(OAuthError.INVALID_REQUEST, f"The field {name} is missing.")
    return form[name]
