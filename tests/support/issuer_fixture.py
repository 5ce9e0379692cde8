"""A gateway that accepts tokens of an external issuer."""

from typing import Any

import pytest

from domogate.domain.faults import TokenRefused
from domogate.domain.people import Client, Principal
from domogate.identity.external import ExternalIssuer, IssuerProfile
from support.clocks import ManualClock
from support.identity import AUDIENCE, Identity, new_identity, new_verifier
from support.issuer import FakeIssuer, IssuerKey

URL = "https://id.example"
KEY = IssuerKey("k1", "RS256")
ALL_SCOPES = ("topology.read", "light.read", "plug.read")


class IssuerFixture:
    """An identity that also accepts an external issuer, at which Anna has an account."""

    def __init__(self, identity: Identity, source: FakeIssuer, own: bool, **profile: Any) -> None:
        self.identity = identity
        self.clock: ManualClock = identity.clock
        self.source = source
        fields = {"audiences": (AUDIENCE,), "clients": {"their-app": "demo-app"}, **profile}
        self.issuer = ExternalIssuer(IssuerProfile(url=source.url, **fields), source, self.clock)
        self.verifier = new_verifier(identity.store, identity.keyring, others=[self.issuer], own=own)
        identity.store.listen(self.verifier.apply)
        identity.store.clients["demo-app"] = Client("demo-app", "Demo app", scopes=ALL_SCOPES)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """The claims of a valid access token. A value of None leaves the claim out."""
        now = int(self.clock.now())
        claims = {
            "iss": self.source.url,
            "sub": "anna-at-id",
            "aud": AUDIENCE,
            "client_id": "their-app",
            "scope": "openid topology.read light.read",
            "email": "anna@example.com",
            "email_verified": True,
            "iat": now,
            "exp": now + 3600,
        }
        return {name: value for name, value in (claims | changed).items() if value is not None}

    def access(self, key: IssuerKey = KEY, typ: str = "at+jwt", **changed: Any) -> bytes:
        return key.sign(self.claims(**changed), typ=typ)

    def id(self, key: IssuerKey = KEY, **changed: Any) -> bytes:
        return key.sign(self.claims(**{"aud": "their-app", "client_id": None, "nonce": "n", **changed}))

    async def verify(self, token: bytes) -> Principal:
        return await self.verifier.verify(token)

    async def refusal(self, token: bytes) -> str:
        with pytest.raises(TokenRefused) as caught:
            await self.verify(token)
        assert self.verifier.find_verified(token) is None
        return caught.value.message


async def new_issuers(*keys: IssuerKey, own: bool = True, **profile: Any) -> IssuerFixture:
    return IssuerFixture(await new_identity(), FakeIssuer(URL, *(keys or (KEY,))), own, **profile)
