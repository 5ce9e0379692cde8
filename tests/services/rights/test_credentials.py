"""The credentials of a request: which key and token are read from its headers, and which requests are refused."""

import pytest

from domogate.domain.faults import Fault, KeyRefused, PasswordToRenew, TermsToAccept, TokenRefused
from domogate.domain.ids import new_id
from domogate.domain.people import GrantType, Principal, Standing, TokenKind
from domogate.ports import Admitted
from domogate.services.rights.access import Caller, authenticate, find_token, read_token, refuse_repeated

Headers = list[tuple[bytes, bytes]]
KEY, AUTHORIZATION = b"ocp-apim-subscription-key", b"authorization"
GOOD_KEY, GOOD_TOKEN = (KEY, b"a-key"), (AUTHORIZATION, b"Bearer a-token")
ADMITTED = Admitted(new_id())


class FakeAdmission:
    """Admits one key. `known`: the key was admitted before."""

    def __init__(self, *, known: bool = False) -> None:
        self.known = known
        self.calls: list[str] = []

    def admit_known(self, key: bytes) -> Admitted | None:
        self.calls.append("admit known")
        return ADMITTED if self.known and key == b"a-key" else None

    async def admit(self, key: bytes) -> Admitted:
        self.calls.append("admit")
        if key != b"a-key":
            raise KeyRefused
        return ADMITTED

    async def recognise(self, key: bytes) -> float:
        raise AssertionError("only streams and webhooks recognise a key again")


class FakeVerifier:
    """Accepts one token. `known`: the token was verified before."""

    def __init__(self, standing: Standing = Standing.GOOD, *, known: bool = False) -> None:
        flow = GrantType.AUTHORIZATION_CODE
        self.principal = Principal(new_id(), "app", new_id(), TokenKind.ID, frozenset(), 1.0, flow, False, standing)
        self.known = known
        self.calls: list[str] = []

    def find_verified(self, unverified_token: bytes) -> Principal | None:
        self.calls.append("find verified")
        return self.principal if self.known and unverified_token == b"a-token" else None

    async def verify(self, unverified_token: bytes) -> Principal:
        self.calls.append("verify")
        if unverified_token != b"a-token":
            raise TokenRefused("another token")
        return self.principal


async def refusal(headers: Headers, standing: Standing = Standing.GOOD) -> Fault:
    with pytest.raises(Fault) as refused:
        await authenticate(headers, FakeAdmission(), FakeVerifier(standing))
    return refused.value


class TestLettingIn:
    @pytest.mark.parametrize("known", [False, True])
    async def test_a_key_and_a_token_give_the_caller_with_both(self, known: bool) -> None:
        admission, verifier = FakeAdmission(known=known), FakeVerifier(known=known)
        caller = await authenticate([(b"host", b"gateway"), GOOD_TOKEN, GOOD_KEY], admission, verifier)
        assert caller == Caller(verifier.principal, ADMITTED, b"a-key", b"a-token")
        assert ("admit" in admission.calls, "verify" in verifier.calls) == (not known, not known)

    async def test_without_a_key_nothing_else_is_looked_at(self) -> None:
        admission, verifier = FakeAdmission(), FakeVerifier()
        with pytest.raises(KeyRefused):
            await authenticate([GOOD_TOKEN], admission, verifier)
        assert (admission.calls, verifier.calls) == ([], [])

    async def test_a_wrong_key_is_refused_before_the_token_is_looked_at(self) -> None:
        verifier = FakeVerifier()
        with pytest.raises(KeyRefused):
            await authenticate([(KEY, b"another"), (AUTHORIZATION, b"wrong")], FakeAdmission(), verifier)
        assert verifier.calls == []

    @pytest.mark.parametrize("headers", [[GOOD_KEY], [GOOD_KEY, (AUTHORIZATION, b"")], [GOOD_KEY, (AUTHORIZATION, b"Bearer ")]])
    async def test_a_missing_token_is_refused_as_missing(self, headers: Headers) -> None:
        refused = await refusal(headers)
        assert isinstance(refused, TokenRefused)
        assert not refused.given

    async def test_a_wrong_token_is_refused_as_given(self) -> None:
        refused = await refusal([GOOD_KEY, (AUTHORIZATION, b"Bearer wrong")])
        assert isinstance(refused, TokenRefused)
        assert refused.given

    @pytest.mark.parametrize(
        ("standing", "fault"), [(Standing.PASSWORD_EXPIRED, PasswordToRenew), (Standing.TERMS_EXPIRED, TermsToAccept)]
    )
    async def test_a_user_in_bad_standing_is_refused(self, standing: Standing, fault: type[Fault]) -> None:
        assert type(await refusal([GOOD_KEY, GOOD_TOKEN], standing)) is fault


class TestRepeatedHeaders:
    """Two servers might use different ones of them, so none of them counts."""

    @pytest.mark.parametrize("second", [b"a-key", b"another"])
    async def test_two_keys_are_refused(self, second: bytes) -> None:
        assert type(await refusal([GOOD_KEY, GOOD_TOKEN, (KEY, second)])) is KeyRefused

    @pytest.mark.parametrize("second", [b"Bearer a-token", b"another"])
    async def test_two_tokens_are_refused(self, second: bytes) -> None:
        refused = await refusal([GOOD_KEY, GOOD_TOKEN, (AUTHORIZATION, second)])
        assert isinstance(refused, TokenRefused)
        assert refused.given

    async def test_the_keys_are_checked_before_the_tokens(self) -> None:
        assert type(await refusal([GOOD_TOKEN, GOOD_TOKEN, GOOD_KEY, GOOD_KEY])) is KeyRefused

    async def test_other_headers_may_be_repeated(self) -> None:
        headers = [GOOD_KEY, GOOD_TOKEN, (b"accept", b"a"), (b"accept", b"b")]
        refuse_repeated(headers)
        assert (await authenticate(headers, FakeAdmission(), FakeVerifier())).key == b"a-key"


class TestToken:
    @pytest.mark.parametrize(
        ("value", "token"),
        [
            (b"Bearer a.b.c", b"a.b.c"),
            (b"bearer a.b.c", b"a.b.c"),
            (b"BEARER a.b.c", b"a.b.c"),
            (b"Bearer   a.b.c  ", b"a.b.c"),
            (b"a.b.c", b"a.b.c"),
            (b"Basic a.b.c", b"Basic a.b.c"),
            (b"Bearera.b.c", b"Bearera.b.c"),
            (b"Bearer Bearer a", b"Bearer a"),
            (b"x", b"x"),
        ],
    )
    def test_is_read_with_or_without_the_word_bearer(self, value: bytes, token: bytes) -> None:
        assert read_token(value) == token
        assert find_token({b"host": b"gateway", AUTHORIZATION: value}) == token

    @pytest.mark.parametrize("value", [None, b"", b"Bearer", b"bearer", b"BEARER", b"Bearer ", b"Bearer     "])
    def test_that_is_empty_is_missing(self, value: bytes | None) -> None:
        with pytest.raises(TokenRefused) as refused:
            read_token(value)
        assert not refused.value.given
