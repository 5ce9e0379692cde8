"""Return addresses, form tokens, forms, and the content security policy."""

from urllib.parse import urlsplit

import hypothesis.strategies as st
import pytest
from hypothesis import given
from starlette.requests import Request

from domogate.auth.pages.browser import Form, is_own_form, parse_return_to, read_form
from domogate.auth.pages.rendering import form_target


class TestReturnTo:
    @pytest.mark.parametrize(
        "path",
        [
            "/auth/authorize",
            "/auth/authorize?client_id=a&redirect_uri=https%3A%2F%2Fapp.example%2Fback&scope=a+b",
            "/auth/account",
            "/homes",
            "/console",
        ],
    )
    def test_may_be_a_path_of_ours(self, path: str) -> None:
        assert parse_return_to(path) == path

    @pytest.mark.parametrize(
        "text",
        [
            None,
            "",
            "/",
            "/auth",
            "auth/account",
            "//evil.example/auth/",
            "/homes.evil.example",
            "/homes/../x",
            "/\\evil.example",
            "/auth\\..\\x",
            "https://evil.example/auth/",
            "javascript:alert(1)",
            "/auth/../../x",
            "/auth/%2e%2e/x",
            "/auth/x\r\nset-cookie: a=b",
            "/auth/x?a=b\n",
            "/auth/x#fragment",
            "/auth/x y",
            "/auth/é",
            "/authx/account",
            '/auth/x?"><script>',
        ],
    )
    def test_may_be_nothing_else(self, text: str | None) -> None:
        assert parse_return_to(text) is None

    @given(st.text(st.characters(codec="ascii"), max_size=60))
    def test_never_leads_to_another_host(self, text: str) -> None:
        path = parse_return_to(f"/auth/{text}")
        if path is not None:
            parts = urlsplit(f"https://gateway.example{path}")
            assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "gateway.example", "")
            assert parts.path.startswith("/auth/")
            assert ".." not in parts.path


class TestFormTargets:
    @pytest.mark.parametrize(
        ("url", "target"),
        [
            ("https://App.Example/back?x=1", "https://app.example"),
            ("http://127.0.0.1:51004/back", "http://127.0.0.1:51004"),
            ("http://localhost/back", "http://localhost"),
            ("com.example.app:/back", "com.example.app:"),
            ("http://[::1]:5000/back", "http:"),
            ("https://user:word@app.example/", "https://app.example"),
            ("https://app.example;script-src */", "https:"),
            ("https://[/", None),
            ("/back", None),
            ("", None),
        ],
    )
    def test_are_as_narrow_as_the_policy_can_say(self, url: str, target: str | None) -> None:
        assert form_target(url) == target

    @given(st.text(max_size=60))
    def test_never_hold_what_would_end_the_directive(self, text: str) -> None:
        target = form_target(f"https://{text}")
        assert target is None or not set(target) & set("; ,'\"\r\n\t*")


class TestFormTokens:
    def test_must_be_there_and_the_same(self) -> None:
        assert is_own_form(Form([("csrf", "abc")]), "abc")
        for form in (Form([]), Form([("csrf", "abd")]), Form([("csrf", "")]), Form([("csrf", "\ud800")]), {}, {"csrf": b"abc"}):
            assert not is_own_form(form, "abc")

    def test_an_empty_token_is_never_accepted(self) -> None:
        assert not is_own_form(Form([("csrf", "")]), "")


def posting(body: bytes, content_type: str = "application/x-www-form-urlencoded") -> Request:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", content_type.encode())]
    return Request({"type": "http", "method": "POST", "path": "/auth/login", "headers": headers}, receive)


class TestForms:
    async def test_are_read(self) -> None:
        form = await read_form(posting(b"email=anna%40example.com&scope=a&scope=b&empty="))
        assert form.get("email") == "anna@example.com"
        assert form.get("scope") == "a"
        assert form.get("empty", "x") == ""
        assert form.get("missing") == ""

    @pytest.mark.parametrize(
        ("body", "content_type"),
        [
            (b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded"),
            (b"&".join(b"a=b" for _ in range(1_001)), "application/x-www-form-urlencoded"),
            (b"a=\xff", "application/x-www-form-urlencoded"),
            (b"a=%ff", "application/x-www-form-urlencoded"),
            (b'{"a":"b"}', "application/json"),
            (b"a=b", ""),
            (b"a=b", "text/plain"),
        ],
    )
    async def test_of_any_other_kind_are_empty(self, body: bytes, content_type: str) -> None:
        assert (await read_form(posting(body, content_type))).get("a") == ""

    @given(st.binary(max_size=200))
    async def test_of_any_bytes_are_read_without_failing(self, body: bytes) -> None:
        await read_form(posting(body))
