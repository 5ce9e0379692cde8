"""Authentication of clients by form fields (Spec 5), by HTTP Basic or by the id alone, and the encodings of forms."""

import base64
from typing import Any

import httpx
import msgspec
import pytest

from domogate.common.secrets import hash_secret
from domogate.services.authorization.client_throttle import WRONG_FOR_CLIENT, WRONG_FROM_NETWORK
from support.oauth import NATIVE, SECRET, VERIFIER, WEB, Browser, Provider, present

pytestmark = pytest.mark.slow


def basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


async def exchange(browser: Browser, headers: dict[str, str] | None = None, **fields: str | None) -> httpx.Response:
    """An exchange of a code that does not exist: 400 invalid_grant means that the client was authenticated."""
    form = {"grant_type": "authorization_code", "code": "x", "code_verifier": VERIFIER, **fields}
    return await browser.post_form("/auth/token", present(form), headers=headers or {})


def is_through(answer: httpx.Response) -> bool:
    return (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


class TestConfidential:
    async def test_by_form_fields(self, browser: Browser) -> None:
        assert is_through(await exchange(browser, client_id="web", client_secret=SECRET))

    async def test_by_basic(self, browser: Browser) -> None:
        assert is_through(await exchange(browser, basic("web", SECRET)))

    async def test_by_basic_in_any_case_and_with_its_name_in_the_form(self, browser: Browser) -> None:
        header = {"authorization": basic("web", SECRET)["authorization"].replace("Basic", "bAsIc")}
        assert is_through(await exchange(browser, header, client_id="web"))

    async def test_basic_is_form_encoded_within(self, browser: Browser, provider: Provider) -> None:
        """RFC 6749 §2.3.1: so that an id may contain a colon, and a secret any character."""
        await provider.store.save_client(msgspec.structs.replace(WEB, id="a:b c", secret_hash=hash_secret("+%:é")))
        assert is_through(await exchange(browser, basic("a%3Ab+c", "%2B%25%3A%C3%A9")))

    async def test_not_by_both(self, browser: Browser) -> None:
        for fields in ({"client_secret": SECRET}, {"client_id": "web", "client_secret": SECRET}, {"client_id": "native"}):
            answer = await exchange(browser, basic("web", SECRET), **fields)
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")

    async def test_not_by_parameters_in_the_query(self, browser: Browser) -> None:
        answer = await browser.post_form(
            f"/auth/token?client_id=web&client_secret={SECRET}", {"grant_type": "authorization_code", "code": "x"}
        )
        assert answer.status_code == 401


class TestRefused:
    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"client_secret": SECRET},
            {"client_id": "nobody", "client_secret": SECRET},
            {"client_id": "nobody"},
            {"client_id": "web"},
            {"client_id": "web", "client_secret": ""},
            {"client_id": "web", "client_secret": "wrong"},
            {"client_id": "web", "client_secret": SECRET.upper()},
            {"client_id": "web", "client_secret": hash_secret(SECRET)},
            {"client_id": "WEB", "client_secret": SECRET},
            {"client_id": "native", "client_secret": "a public client has none"},
        ],
    )
    async def test_by_form_fields(self, browser: Browser, fields: dict[str, str]) -> None:
        answer = await exchange(browser, None, **fields)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert answer.headers["www-authenticate"].startswith("Basic realm=")
        assert answer.headers["cache-control"] == "no-store"

    @pytest.mark.parametrize(
        "header",
        [
            basic("web", "wrong"),
            basic("nobody", SECRET),
            basic("web", ""),
            basic("web", "%zz%ff"),
            {"authorization": "Basic"},
            {"authorization": "Basic !!!"},
            {"authorization": "Basic " + base64.b64encode(b"no colon").decode()},
            {"authorization": "Basic " + base64.b64encode(b"web:\xff").decode()},
        ],
    )
    async def test_by_basic(self, browser: Browser, header: dict[str, str]) -> None:
        answer = await exchange(browser, header)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert answer.headers["www-authenticate"].startswith("Basic realm=")

    async def test_an_unknown_client_and_a_wrong_secret_look_alike(self, browser: Browser) -> None:
        unknown = await exchange(browser, client_id="nobody", client_secret="wrong")
        wrong = await exchange(browser, client_id="web", client_secret="wrong")
        assert unknown.content == wrong.content
        assert unknown.headers == wrong.headers

    async def test_two_authorization_headers(self, browser: Browser) -> None:
        content = "grant_type=authorization_code&code=x"
        headers = [("authorization", basic("web", SECRET)["authorization"])] * 2
        form = ("content-type", "application/x-www-form-urlencoded")
        answer = await browser.http.post("/auth/token", content=content, headers=[*headers, form])
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")

    async def test_a_wrong_secret_is_noted_and_an_unknown_client_is_not(self, browser: Browser, provider: Provider) -> None:
        await exchange(browser, client_id="nobody", client_secret="wrong")
        await exchange(browser, client_id="web", client_secret="wrong")
        (note,) = provider.ledger.notes
        assert (note["action"], note["what"], note["result"]) == ("refusal", "client:web", "wrong")
        assert "wrong" not in str(note["detail"])


class TestPublic:
    async def test_by_its_name_alone(self, browser: Browser) -> None:
        assert is_through(await exchange(browser, client_id=NATIVE.id))

    async def test_with_an_empty_secret(self, browser: Browser) -> None:
        assert is_through(await exchange(browser, client_id=NATIVE.id, client_secret=""))

    async def test_by_basic_with_an_empty_secret(self, browser: Browser) -> None:
        assert is_through(await exchange(browser, basic(NATIVE.id, "")))


class TestTheForm:
    FORM = {"grant_type": "authorization_code", "code": "x", "code_verifier": VERIFIER, "client_id": "native"}

    async def test_urlencoded_with_a_charset(self, browser: Browser) -> None:
        header = {"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}
        assert is_through(await browser.post_form("/auth/token", self.FORM, headers=header))

    async def test_multipart(self, browser: Browser) -> None:
        fields: Any = {name: (None, value) for name, value in self.FORM.items()}
        assert is_through(await browser.http.post("/auth/token", files=fields))

    async def test_a_multipart_refresh_succeeds(self, browser: Browser) -> None:
        first = await browser.get_tokens()
        form = {"grant_type": "refresh_token", "client_id": "web", "client_secret": SECRET}
        fields: Any = {name: (None, value) for name, value in {**form, "refresh_token": first["refresh_token"]}.items()}
        assert (await browser.http.post("/auth/token", files=fields)).status_code == 200

    async def test_without_a_content_type(self, browser: Browser) -> None:
        answer = await browser.http.post("/auth/token", content="grant_type=refresh_token&refresh_token=x&client_id=native")
        assert is_through(answer)

    @pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/xml", "multipart/mixed", "nonsense"])
    async def test_of_another_type_is_refused(self, browser: Browser, kind: str) -> None:
        answer = await browser.post_form("/auth/token", self.FORM, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("multipart/form-data", b"x"),
            ("multipart/form-data; boundary=b", b"x"),
            ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n"),
            (
                "multipart/form-data; boundary=b; charset=nonsense",
                b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--',
            ),
            ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--b--\r\n'),
            (
                "multipart/form-data; boundary=b",
                b'--b\r\nContent-Disposition: form-data; name="code"; filename="f"\r\n\r\nx\r\n--b--\r\n',
            ),
            ("application/x-www-form-urlencoded", b"code=%ff"),
            ("application/x-www-form-urlencoded", b"\xff"),
            ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(101))),
            ("application/x-www-form-urlencoded", b""),
        ],
    )
    async def test_that_is_not_well_formed_is_refused(self, browser: Browser, kind: str, body: bytes) -> None:
        answer = await browser.http.post("/auth/token", content=body, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")

    @pytest.mark.parametrize("path", ["/auth/token", "/auth/revoke", "/auth/authorize", "/auth/logout"])
    @pytest.mark.parametrize(
        ("charset", "value"), [("utf-7", b"+2AA-"), ("unicode_escape", rb"\ud800"), ("punycode", b"9" * 1_000)]
    )
    async def test_multipart_of_another_charset_is_refused(
        self, browser: Browser, path: str, charset: str, value: bytes
    ) -> None:
        fields = {"grant_type": b"refresh_token", "refresh_token": b"x", "token": b"x", "client_id": value}
        part = b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
        body = b"".join(part % (name.encode(), content) for name, content in fields.items()) + b"--b--\r\n"
        header = {"content-type": f"multipart/form-data; boundary=b; charset={charset}"}
        answer = await browser.http.post(path, content=body, headers=header)
        assert (answer.status_code, "charset" in answer.text) == (400, True)

    async def test_multipart_of_utf8_is_accepted(self, browser: Browser) -> None:
        fields = "".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in self.FORM.items()
        )
        header = {"content-type": "multipart/form-data; boundary=b; charset=UTF-8"}
        assert is_through(await browser.http.post("/auth/token", content=f"{fields}--b--\r\n", headers=header))

    @pytest.mark.parametrize("name", [*FORM, "client_secret", "nonsense"])
    async def test_with_a_field_twice_is_refused(self, browser: Browser, name: str) -> None:
        fields = [*self.FORM.items(), (name, "x"), (name, "x")]
        for answer in (
            await browser.post_form("/auth/token", fields),
            await browser.http.post("/auth/token", files=[(field, (None, value)) for field, value in fields]),
        ):
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")

    @pytest.mark.parametrize("path", ["/auth/token", "/auth/revoke", "/auth/introspect", "/auth/userinfo"])
    async def test_that_is_too_long_is_refused(self, browser: Browser, path: str) -> None:
        answer = await browser.post_form(path, {"code": "x" * 65_536})
        assert (answer.status_code, answer.json()["error"]) == (413, "invalid_request")

    async def test_that_never_ends_is_cut_off(self, browser: Browser) -> None:
        sent = 0

        async def endless() -> Any:
            nonlocal sent
            while True:
                sent += 1024
                yield b"x" * 1024

        answer = await browser.http.post("/auth/token", content=endless())
        assert answer.status_code == 413
        assert sent < 100_000

    @pytest.mark.parametrize("path", ["/auth/token", "/auth/token/", "/auth/revoke", "/auth/introspect"])
    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
    async def test_is_the_only_way(self, browser: Browser, path: str, method: str) -> None:
        answer = await browser.http.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.json()["error"] == "method_not_allowed"


class TestManyWrongSecrets:
    @pytest.mark.parametrize("path", ["/auth/token", "/auth/introspect", "/auth/revoke"])
    async def test_are_429_until_a_minute_is_over_and_the_right_secret_is_always_accepted(
        self, browser: Browser, provider: Provider, path: str
    ) -> None:
        form = {"grant_type": "authorization_code", "code": "x", "token": "x", "client_id": "web"}
        for _ in range(WRONG_FOR_CLIENT):
            assert (await browser.post_form(path, {**form, "client_secret": "wrong"})).status_code == 401
        provider.clock.advance(10.5)
        answer = await browser.post_form(path, {**form, "client_secret": "wrong"})
        assert (answer.status_code, answer.json()["error"]) == (429, "too_many_requests")
        assert answer.headers["retry-after"] == "50"
        assert answer.headers["cache-control"] == "no-store"
        assert is_through(await exchange(browser, client_id="web", client_secret=SECRET))
        assert is_through(await exchange(browser, client_id="native"))
        provider.clock.advance(49.5)
        assert (await browser.post_form(path, {**form, "client_secret": "wrong"})).status_code == 401

    async def test_for_clients_that_do_not_exist_are_429_too(self, browser: Browser) -> None:
        answers = [
            (await exchange(browser, client_id=f"nobody {number}", client_secret="x")).status_code
            for number in range(WRONG_FROM_NETWORK + 1)
        ]
        assert answers == [401] * WRONG_FROM_NETWORK + [429]
