"""Tokens that are refused (Spec 5.2 to 5.4): always 401, on every operation."""

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from domogate.domain.people import GrantType
from support.gateway import Gateway
from support.http import case, expect_ok, expect_refusal, raw_call
from support.spec_operations import ALL_SCOPES, E5, E6, E16, OPERATIONS, Operation
from support.store_access import issue_token
from support.token_forger import TokenForger, claims_of, encode

pytestmark = pytest.mark.slow

every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)
SCOPED = [operation for operation in OPERATIONS if operation.scopes]


@pytest.fixture(scope="module")
def forge(workshop: Gateway) -> TokenForger:
    return TokenForger(workshop)


def good_token(gateway: Gateway, operation: Operation) -> str:
    who, _ = gateway.case(operation)
    return gateway.people[who].token_for(operation)


def refused(gateway: Gateway, operation: Operation, token: str) -> Any:
    _, target = gateway.case(operation)
    return expect_refusal(operation, gateway.send(operation, target, token=token), 401)


class TestAuthorizationHeader:
    @every_operation
    def test_anything_but_a_token_is_401(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        for value in (
            "",
            "Bearer",
            "Basic dXNlcjpwYXNz",
            "Bearer a b",
            "Bearer null",
            "Bearer ..",
            "Digest x",
            "é",
            "x" * 9000,
        ):
            with case(value):
                expect_refusal(operation, demo.send(operation, target, token=None, headers={"Authorization": value}), 401)

    @pytest.mark.parametrize("value", [" ", "Bearer ", "Bearer \t", "Bearer  x"])
    def test_blanks_are_no_token(self, demo: Gateway, value: str) -> None:
        answer = raw_call(demo.api, E6, E6.path, token=None, extra=[("Authorization", value)])
        expect_refusal(E6, answer, 401)

    @pytest.mark.story
    @every_operation
    def test_none_at_all_is_401(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        expect_refusal(operation, demo.send(operation, target, token=None), 401)

    @every_operation
    def test_two_headers_are_refused_even_if_both_are_good(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        token = demo.people[who].token_for(operation)
        for second in (f"Bearer {token}", "Bearer x", ""):
            answer = raw_call(demo.api, operation, operation.url(target), token=token, extra=[("Authorization", second)])
            expect_refusal(operation, answer, 401)

    @every_operation
    def test_a_token_in_the_query_is_not_looked_at(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        path = f"{operation.url(target)}?access_token={demo.people[who].token_for(operation)}"
        expect_refusal(operation, demo.send(operation, token=None, path=path), 401)


class TestSignature:
    @every_operation
    def test_one_flipped_bit_anywhere_in_the_signature_is_401(self, workshop: Gateway, operation: Operation) -> None:
        head, body, signature = good_token(workshop, operation).split(".")
        raw = bytearray(base64.urlsafe_b64decode(signature + "=="))
        for place in (0, len(raw) // 2, len(raw) - 1):
            flipped = bytearray(raw)
            flipped[place] ^= 1
            refused(workshop, operation, f"{head}.{body}.{base64.urlsafe_b64encode(flipped).rstrip(b'=').decode()}")

    @every_operation
    def test_no_algorithm_in_any_case_is_401(self, workshop: Gateway, operation: Operation) -> None:
        token = good_token(workshop, operation)
        header, (_, body, signature) = jwt.get_unverified_header(token), token.split(".")
        for alg in ("none", "None", "NONE", "nOnE", ""):
            head = encode({**header, "alg": alg})
            with case(alg):
                refused(workshop, operation, f"{head}.{body}.")
                refused(workshop, operation, f"{head}.{body}.{signature}")

    @every_operation
    def test_hs256_keyed_with_the_public_key_is_401(self, workshop: Gateway, operation: Operation, forge: TokenForger) -> None:
        token = good_token(workshop, operation)
        head = encode({**jwt.get_unverified_header(token), "alg": "HS256"})
        signed = f"{head}.{token.split('.')[1]}"
        public = jwt.PyJWK.from_dict(forge.public_key).key
        secrets = [
            public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
            json.dumps(forge.public_key).encode(),
            b"",
        ]
        for secret in secrets:
            digest = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
            refused(workshop, operation, f"{signed}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}")

    def test_a_key_brought_along_in_the_header_is_not_believed(self, workshop: Gateway) -> None:
        for algorithm, own in (
            ("ES256", ec.generate_private_key(ec.SECP256R1())),
            ("EdDSA", ed25519.Ed25519PrivateKey.generate()),
            ("RS256", rsa.generate_private_key(65537, 2048)),
        ):
            public = json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(own.public_key()))
            token = good_token(workshop, E6)
            kid = jwt.get_unverified_header(token)["kid"]
            for head in (
                {"jwk": public, "kid": kid},
                {"jwk": public},
                {"kid": kid},
                {"jku": "http://127.0.0.1:9/jwks", "kid": kid},
            ):
                refused(workshop, E6, jwt.encode(claims_of(token), own, algorithm, headers={"typ": "JWT", **head}))

    @every_operation
    def test_a_critical_header_of_any_type_is_401(self, workshop: Gateway, operation: Operation) -> None:
        token = good_token(workshop, operation)
        header, rest = jwt.get_unverified_header(token), token.partition(".")[2]
        malformed: tuple[object, ...] = (None, 1, True, "exp", ["exp"], [1], {})
        for crit in malformed:
            refused(workshop, operation, f"{encode({**header, 'crit': crit})}.{rest}")

    @pytest.mark.parametrize("kid", [None, "", "no-such-key", "../../etc/passwd", "' OR 1=1 --", "x" * 3000])
    def test_an_unknown_key_id_is_401(self, workshop: Gateway, forge: TokenForger, kid: str | None) -> None:
        refused(workshop, E6, forge.resign(good_token(workshop, E6), header={"kid": kid}))


class TestClaims:
    def test_a_token_signed_again_without_a_change_is_good(self, workshop: Gateway, forge: TokenForger) -> None:
        """The helper makes valid tokens; otherwise the refusals below would prove nothing."""
        for operation in OPERATIONS:
            who, target = workshop.case(operation)
            token = forge.resign(workshop.people[who].token_for(operation), {"jti": "another"})
            assert workshop.send(operation, target, token=token).status_code == 200

    @every_operation
    def test_a_token_outside_its_time_is_401(self, workshop: Gateway, operation: Operation, forge: TokenForger) -> None:
        now = int(time.time())
        for wrong, what in (
            ("expired", {"exp": -10, "iat": -4000, "nbf": -4000}),
            ("expired just now", {"exp": -1}),
            ("not yet valid", {"nbf": 600, "iat": 600, "exp": 4000}),
        ):
            with case(wrong):
                changed = {claim: now + seconds for claim, seconds in what.items()}
                refused(workshop, operation, forge.resign(good_token(workshop, operation), changed))

    @every_operation
    def test_another_issuer_is_401_even_if_only_a_slash_is_added(
        self, workshop: Gateway, operation: Operation, forge: TokenForger
    ) -> None:
        token = good_token(workshop, operation)
        issuer = claims_of(token)["iss"]
        for wrong in (f"{issuer}/", issuer.upper(), "https://evil.example", "", None, [issuer], issuer[:-1]):
            refused(workshop, operation, forge.resign(token, {"iss": wrong}))

    @every_operation
    def test_an_unknown_audience_is_401(self, workshop: Gateway, operation: Operation, forge: TokenForger) -> None:
        token = good_token(workshop, operation)
        for wrong in ("no-such-client", "", None, [], ["no-such-client"]):
            refused(workshop, operation, forge.resign(token, {"aud": wrong}))

    @pytest.mark.parametrize("claim", ["sub", "exp", "iss", "aud"])
    def test_a_token_without_an_essential_claim_is_401(self, workshop: Gateway, forge: TokenForger, claim: str) -> None:
        refused(workshop, E6, forge.resign(good_token(workshop, E6), {claim: None}))

    @pytest.mark.parametrize("exp", ["tomorrow", "9999999999", True, [9999999999], 1e308, -1])
    def test_an_expiry_that_is_not_a_time_is_401(self, workshop: Gateway, forge: TokenForger, exp: object) -> None:
        refused(workshop, E6, forge.resign(good_token(workshop, E6), {"exp": exp}))

    @every_operation
    def test_an_unknown_user_is_401(self, workshop: Gateway, operation: Operation, forge: TokenForger) -> None:
        for sub in ("00000000-0000-4000-8000-000000000000", "", 1, "' OR 1=1 --", ["x"]):
            with case(sub):
                refused(workshop, operation, forge.resign(good_token(workshop, operation), {"sub": sub}))

    def test_another_users_subject_on_ones_own_grant_is_401(self, workshop: Gateway, forge: TokenForger) -> None:
        mine, theirs = (claims_of(workshop.people[mail].id_token) for mail in workshop.good_people[:2])
        assert mine["sub"] != theirs["sub"]
        refused(workshop, E6, forge.resign(workshop.people[workshop.good_people[0]].id_token, {"sub": theirs["sub"]}))


class TestKind:
    @every_operation
    def test_the_other_kind_is_401_except_on_emergency_lighting(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        person = demo.people[who]
        other = person.id_token if operation.token == "access" else person.access_token
        answer = demo.send(operation, target, token=other)
        if operation.token == "either":
            expect_ok(operation, answer)
        else:
            expect_refusal(operation, answer, 401)

    @every_operation
    def test_a_client_registered_for_it_may_send_its_access_token_everywhere(
        self, workshop: Gateway, operation: Operation
    ) -> None:
        who, target = workshop.case(operation)
        token = issue_token(workshop, who, "access", access_token_everywhere=True)
        assert workshop.send(operation, target, token=token).status_code == 200

    @every_operation
    def test_that_makes_no_id_token_good_for_home_control(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        answer = workshop.send(operation, target, token=issue_token(workshop, who, "id", access_token_everywhere=True))
        assert answer.status_code == (401 if operation.token == "access" else 200)

    @every_operation
    def test_tokens_of_the_implicit_flow_open_everything_but_home_control(
        self, workshop: Gateway, operation: Operation
    ) -> None:
        who, target = workshop.case(operation)
        kind = "access" if operation.token == "access" else "id"
        answer = workshop.send(operation, target, token=issue_token(workshop, who, kind, flow=GrantType.IMPLICIT))
        if operation.token == "access":
            expect_refusal(operation, answer, 401)
        else:
            assert answer.status_code == 200

    @pytest.mark.parametrize("typ", [None, "", "at+jwt", "ticket+jwt", "logout+jwt", "JOSE", "rt+jwt"])
    def test_a_type_that_is_not_an_id_tokens_is_no_id_token(
        self, workshop: Gateway, forge: TokenForger, typ: str | None
    ) -> None:
        refused(workshop, E6, forge.resign(workshop.people[workshop.anyone].id_token, header={"typ": typ}))


class TestScope:
    @pytest.mark.parametrize("operation", SCOPED, ids=str)
    def test_every_other_scope_together_does_not_open_it(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        kind = "access" if operation.token == "access" else "id"
        others = tuple(scope for scope in ALL_SCOPES if scope not in operation.scopes)
        answer = workshop.send(operation, target, token=issue_token(workshop, who, kind, others))
        expect_refusal(operation, answer, 401)
        challenge = answer.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert operation.scopes[0] in challenge

    @pytest.mark.parametrize("operation", SCOPED, ids=str)
    def test_a_scope_is_a_whole_word_in_its_own_case(self, workshop: Gateway, operation: Operation, forge: TokenForger) -> None:
        token, scope = good_token(workshop, operation), operation.scopes[0]
        for wrong in (f"{scope}x", scope.upper(), scope[:-1], f"x{scope}", f"{scope},x", scope.split(".")[0], "*", ""):
            refused(workshop, operation, forge.resign(token, {"scope": wrong}))

    @pytest.mark.parametrize("scopes", [("scene.launch",), ("scene.write",)], ids=str)
    def test_e5_takes_either_of_its_scopes_alone(self, workshop: Gateway, scopes: tuple[str, ...]) -> None:
        who, target = workshop.case(E5)
        assert workshop.send(E5, target, token=issue_token(workshop, who, "id", scopes)).status_code == 200

    @pytest.mark.parametrize("operation", SCOPED, ids=str)
    def test_its_scope_alone_opens_it(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        kind = "access" if operation.token == "access" else "id"
        token = issue_token(workshop, who, kind, operation.scopes[:1])
        assert workshop.send(operation, target, token=token).status_code == 200

    def test_a_missing_scope_is_told_before_a_bad_id(self, workshop: Gateway) -> None:
        token = issue_token(workshop, workshop.case(E16)[0], "id", ("topology.read",))
        expect_refusal(E16, workshop.send(E16, token=token, path=E16.fill({"plant": "nonsense"})), 401)


class TestRevocation:
    def test_a_revoked_grant_is_401_from_the_next_call_on(self, workshop: Gateway) -> None:
        issued = json.loads(workshop.domogate("token", "issue", workshop.anyone, "--json"))
        assert workshop.send(E6, token=issued["token"]).status_code == 200
        workshop.domogate("token", "revoke", issued["grant"])
        expect_refusal(E6, workshop.send(E6, token=issued["token"]), 401)
