"""Redirect URIs are compared exactly, and parameters stay within the query or fragment."""

from urllib.parse import parse_qsl, urlsplit

import hypothesis.strategies as st
from hypothesis import given

from domogate.auth.redirects import ResponseMode, explain_mismatch, matches, send_back
from support.oauth import NATIVE, WEB

REGISTERED = "https://app.example/back"
texts = st.text(max_size=40)


class TestMatches:
    @given(texts, st.booleans())
    def test_a_text_matches_itself_alone(self, other: str, any_port: bool) -> None:
        assert matches(REGISTERED, REGISTERED, any_port=any_port)
        assert matches(other, REGISTERED, any_port=any_port) is (other == REGISTERED)
        assert not matches(REGISTERED + (other or "x"), REGISTERED, any_port=any_port)
        assert not matches((other or "x") + REGISTERED, REGISTERED, any_port=any_port)

    @given(
        st.integers(-10, 70_000), st.sampled_from(["http://127.0.0.1", "http://[::1]"]), st.sampled_from(["", "/", "/b?c=d"])
    )
    def test_a_loopback_address_has_any_port_that_there_is(self, port: int, host: str, rest: str) -> None:
        requested, registered = f"{host}:{port}{rest}", f"{host}{rest}"
        assert matches(requested, registered, any_port=True) is (1 <= port <= 65_535)
        assert not matches(requested, registered, any_port=False)

    @given(texts)
    def test_but_nothing_else_besides_it(self, rest: str) -> None:
        assert matches(f"http://127.0.0.1:8080{rest}", "http://127.0.0.1/back", any_port=True) is (rest == "/back")


class TestExplanations:
    @given(texts)
    def test_there_is_one_for_whatever_was_sent(self, requested: str) -> None:
        for client in (WEB, NATIVE):
            said = explain_mismatch(requested, client)
            assert said.isprintable()
            assert "redirect_uri" in said


class TestSendBack:
    @given(st.dictionaries(st.text(min_size=1, max_size=10), texts, max_size=4), st.sampled_from(ResponseMode))
    def test_parameters_survive_the_redirect(self, parameters: dict[str, str], mode: ResponseMode) -> None:
        location = send_back(REGISTERED, mode, parameters).headers["location"]
        assert location.isascii()
        assert location.isprintable()
        parts = urlsplit(location)
        assert (parts.scheme, parts.netloc, parts.path) == ("https", "app.example", "/back")
        found = parts.query if mode is ResponseMode.QUERY else parts.fragment
        assert dict(parse_qsl(found, keep_blank_values=True)) == parameters
