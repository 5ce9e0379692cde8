"""No secret of an application, a person or a thief is in the log or in the files of the gateway."""

from collections.abc import Iterator

import pytest

from support.gateway import Gateway, running, start
from support.http import KEY_HEADER
from support.relying_party import PersonBrowser, PlainApp, Secrets, files_of

pytestmark = pytest.mark.slow

LOUD = {"DOMOGATE_LOG_LEVEL": "debug", "DOMOGATE_ACCESS_LOG": "true"}


@pytest.fixture(scope="module")
def confided() -> Secrets:
    return Secrets()


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory, confided: Secrets) -> Iterator[Gateway]:
    """A gateway with its most detailed log, after all calls that involve secrets."""
    with running(start("demo", tmp_path_factory.mktemp("talkative"), LOUD)) as gateway:
        for user in gateway.ready["users"]:
            confided.note(user["password"])
            confided.note_tokens(user)
        confided.note(gateway.subscription_key)
        visitor, app = PersonBrowser(gateway, "anna@example.com", confided), PlainApp(gateway, confided)
        try:
            provoke(gateway, visitor, app)
        finally:
            visitor.close()
            app.close()
        yield gateway


def provoke(gateway: Gateway, visitor: PersonBrowser, app: PlainApp) -> None:
    """Valid and invalid calls, with secrets in right and wrong places."""
    callback = visitor.grant_access(app.authorization_url())
    form = app.redeem_form(callback)
    tokens = app.ask_token(form).json()
    refreshed = app.ask_token(app.refresh_form(tokens["refresh_token"])).json()
    app.ask_token(form)  # the code again
    code_alone = app.redeem_form(visitor.grant_access(app.authorization_url(prompt="consent")))
    app.ask_token({**code_alone, "code_verifier": code_alone["code"] + "x" * 43})
    for wrong in (tokens["access_token"], refreshed["id_token"], visitor.password):
        app.ask_token(app.refresh_form(wrong))
        app.ask_token({**app.refresh_form(refreshed["refresh_token"]), "client_secret": wrong})
        app.ask_token({**app.refresh_form(refreshed["refresh_token"]), "grant_type": wrong})
    everything = {**form, **app.refresh_form(refreshed["refresh_token"]), "password": visitor.password}
    for path in ("/auth/token", "/auth/revoke", "/auth/introspect", "/auth/userinfo", "/auth/authorize", "/auth/login"):
        # In the URL, where they do not belong.
        app.http.get(path, params=everything)
        app.http.post(path, params=everything, data=everything)
        app.http.post(path, content=str(everything), headers={"Content-Type": "application/json"})
    for token in (refreshed["access_token"], refreshed["id_token"]):
        for path in ("/auth/userinfo", "/homeauto/v1.0/plants", "/manage/v1/users"):
            app.http.get(path, headers={"Authorization": f"Bearer {token}", KEY_HEADER: gateway.subscription_key})
            app.http.get(path, headers={"Authorization": f"Basic {token}", KEY_HEADER: token})
        app.http.post("/auth/introspect", data={"token": token, **app.credentials})
        visitor.open(f"/auth/logout?id_token_hint={token}&post_logout_redirect_uri=http://127.0.0.1/{token}")
    visitor.open_account()
    visitor.submit("/auth/login", [("email", visitor.password), ("password", visitor.password), ("csrf", "none")])
    visitor.open(app.authorization_url(login_hint=visitor.password, id_token_hint=refreshed["id_token"], prompt="none"))
    app.http.post("/auth/revoke", data={"token": refreshed["refresh_token"], **app.credentials})


class TestAfterEverything:
    def test_there_was_something_to_be_found(self, talkative: Gateway, confided: Secrets) -> None:
        """Otherwise the absence of secrets would prove nothing."""
        assert len(confided) > 50
        for path in ("/auth/token", "/auth/authorize", "/auth/introspect", "/homeauto/v1.0/plants"):
            assert path in talkative.log
        assert any(b"anna@example.com" in file.read_bytes() for file in files_of(talkative.data))

    def test_a_secret_in_a_file_is_found(self, talkative: Gateway, confided: Secrets) -> None:
        """Only the demo's header files for curl contain tokens, and other users cannot read them."""
        headers = [file for file in (talkative.data / "as").iterdir() if confided.find_in(file.read_bytes())]
        assert headers
        assert {file.stat().st_mode & 0o077 for file in headers} == {0}

    def test_neither_the_log_nor_any_file_holds_a_secret(self, talkative: Gateway, confided: Secrets) -> None:
        assert confided.find_at(talkative) == {}

    def test_nor_does_the_audit_log_as_it_is_exported(self, talkative: Gateway, confided: Secrets) -> None:
        exported = talkative.domogate("audit", "export")
        assert exported.count("\n") > 3
        assert confided.find_in(exported.encode()) == []

    def test_nothing_went_wrong_inside(self, talkative: Gateway) -> None:
        assert "Traceback" not in talkative.log
