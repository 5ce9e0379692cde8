import asyncio
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.identity.fetching import FetchFailed, JsonFetcher
from domogate.identity.profiles import IssuerProfile
from domogate.identity.remote_keys import COLD_PAUSE, MAX_STALE, REFETCH_PAUSE, KeysUnavailable, RemoteKeys, read_keys
from support.clocks import ManualClock
from support.examples import examples
from support.issuer import FakeIssuer, IssuerKey, serve_issuer

URL = "https://id.example"
FIRST, SECOND = IssuerKey("first"), IssuerKey("second")


def remote(source: FakeIssuer, clock: ManualClock | None = None, **profile: Any) -> RemoteKeys:
    return RemoteKeys(IssuerProfile(url=source.url, clients={"a": "b"}, **profile), source, clock or ManualClock())


async def let_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestKeys:
    async def test_are_discovered_at_first_use_and_then_kept(self) -> None:
        source = FakeIssuer(URL, FIRST)
        keys = remote(source)
        assert source.fetched == []
        for _ in range(5):
            assert await keys.find("first", "ES256") is not None
        assert source.fetched == [f"{URL}/.well-known/openid-configuration", f"{URL}/jwks"]

    async def test_a_hundred_that_ask_at_once_share_one_fetch(self) -> None:
        source = FakeIssuer(URL, FIRST)
        keys = remote(source)
        found = await asyncio.gather(*(keys.find("first", "ES256") for _ in range(100)))
        assert all(found)
        assert source.rounds == 1

    async def test_a_rotated_key_is_found_when_its_first_token_comes(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock)
        await keys.find("first", "ES256")
        source.keys = [SECOND]
        clock.advance(REFETCH_PAUSE)
        assert await keys.find("second", "ES256") is not None
        assert await keys.find("first", "ES256") is None

    async def test_unknown_ids_cause_one_fetch_in_half_a_minute_however_many_come(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock)
        await keys.find("first", "ES256")
        for second in range(120):
            await asyncio.gather(*(keys.find(f"unknown-{second}-{number}", "ES256") for number in range(5)))
            clock.advance(1.0)
        assert source.rounds == 1 + 120 // REFETCH_PAUSE - 1

    async def test_that_are_old_are_fetched_again_in_the_background(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock, keys_max_age=600.0)
        await keys.find("first", "ES256")
        source.keys = [FIRST, SECOND]
        clock.advance(600.0)
        source.held = asyncio.Event()
        assert await keys.find("first", "ES256") is not None  # a slow issuer does not delay other requests
        source.held.set()
        await let_run()
        assert source.rounds == 2
        assert await keys.find("second", "ES256") is not None
        assert source.rounds == 2

    async def test_that_the_issuer_took_away_are_gone_after_that(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST, SECOND)
        keys = remote(source, clock, keys_max_age=600.0)
        await keys.find("first", "ES256")
        source.keys = [SECOND]
        clock.advance(600.0)
        await keys.find("first", "ES256")
        await let_run()
        assert await keys.find("first", "ES256") is None

    async def test_stay_in_use_for_some_time_while_the_issuer_is_down(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock)
        await keys.find("first", "ES256")
        source.down = True
        for _ in range(23):
            clock.advance(3600.0)
            assert await keys.find("first", "ES256") is not None
            await let_run()
        clock.advance(MAX_STALE)
        with pytest.raises(KeysUnavailable):
            await keys.find("first", "ES256")

    async def test_that_could_never_be_fetched_are_fetched_again_soon(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        source.down = True
        keys = remote(source, clock)
        for _ in range(10):
            with pytest.raises(KeysUnavailable):
                await keys.find("first", "ES256")
        assert source.rounds == 1
        source.down = False
        clock.advance(COLD_PAUSE)
        assert await keys.find("first", "ES256") is not None

    async def test_a_clock_set_back_does_not_stop_the_fetching(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock)
        await keys.find("first", "ES256")
        source.keys = [SECOND]
        clock.advance(-3000.0)
        assert await keys.find("second", "ES256") is not None

    async def test_an_empty_set_replaces_nothing(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock)
        await keys.find("first", "ES256")
        source.keys = []
        clock.advance(REFETCH_PAUSE)
        assert await keys.find("other", "ES256") is None
        assert await keys.find("first", "ES256") is not None

    @pytest.mark.slow
    async def test_without_an_id_the_only_key_of_the_algorithm_is_taken(self) -> None:
        source = FakeIssuer(URL, IssuerKey(None), IssuerKey("rsa", "RS256"))
        assert await remote(source).find(None, "ES256") is not None
        source = FakeIssuer(URL, FIRST, SECOND)
        assert await remote(source).find(None, "ES256") is None

    @pytest.mark.slow
    async def test_a_key_is_for_its_own_algorithm_only(self) -> None:
        keys = remote(FakeIssuer(URL, FIRST, IssuerKey("rsa", "RS256")))
        assert await keys.find("first", "RS256") is None
        assert await keys.find("rsa", "PS256") is None
        assert await keys.find("rsa", "ES256") is None
        assert await keys.find("rsa", "RS256") is not None

    async def test_stop_ends_a_fetch_that_is_under_way(self) -> None:
        clock, source = ManualClock(), FakeIssuer(URL, FIRST)
        keys = remote(source, clock)
        await keys.find("first", "ES256")
        clock.advance(3600.0)
        source.held = asyncio.Event()
        await keys.find("first", "ES256")
        await let_run()
        await asyncio.wait_for(keys.stop(), 30)


class TestDiscovery:
    @pytest.mark.parametrize(
        "metadata",
        [
            {"issuer": f"{URL}/", "jwks_uri": f"{URL}/jwks"},
            {"issuer": "https://other.example", "jwks_uri": f"{URL}/jwks"},
            {"jwks_uri": f"{URL}/jwks"},
            {"issuer": URL},
            {"issuer": URL, "jwks_uri": 7},
            {"issuer": URL, "jwks_uri": "http://id.example/jwks"},
            {"issuer": URL, "jwks_uri": "file:///etc/passwd"},
            {"issuer": URL, "jwks_uri": "http://127.0.0.1:9000/jwks"},
            {"issuer": URL, "jwks_uri": "https://localhost/jwks"},
            [],
            None,
        ],
    )
    async def test_of_another_issuer_or_with_a_bad_key_url_is_not_followed(self, metadata: Any) -> None:
        class WrongIssuer(FakeIssuer):
            async def get_json(self, url: str) -> Any:
                found = await super().get_json(url)
                return metadata if url.endswith("openid-configuration") else found

        source = WrongIssuer(URL, FIRST)
        with pytest.raises(KeysUnavailable):
            await remote(source).find("first", "ES256")
        assert [url for url in source.fetched if not url.endswith("openid-configuration")] == []

    async def test_may_name_keys_on_another_host_and_metadata_may_lie_elsewhere(self) -> None:
        source = FakeIssuer(URL, FIRST)
        source.metadata["jwks_uri"] = "https://keys.example/x?p=1"
        assert await remote(source).find("first", "ES256") is not None
        with pytest.raises(KeysUnavailable):
            await remote(source, metadata_url="https://elsewhere.example/m").find("first", "ES256")
        assert source.fetched[-1] == "https://elsewhere.example/m"


class TestAKeySet:
    @pytest.mark.parametrize(
        "useless",
        [
            {"kty": "oct", "k": "c2VjcmV0", "kid": "x"},
            {**FIRST.public, "use": "enc"},
            {**FIRST.public, "key_ops": ["sign"]},
            {**FIRST.public, "key_ops": 7},
            {**FIRST.public, "alg": "ES512"},
            {**FIRST.public, "x": "AAAA"},
            {**FIRST.public, "x": 7},
            {**FIRST.public, "crv": "P-521"},
            {**FIRST.public, "kty": ["EC"]},
            FIRST.private,
            {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "small"},
            {"kty": "RSA", "kid": "empty"},
            {"kty": "new", "kid": "unheard of"},
            {},
            [],
            "first",
            None,
        ],
    )
    def test_is_read_for_what_can_be_used_and_the_rest_is_passed_over(self, useless: Any) -> None:
        keys = read_keys({"keys": [useless, SECOND.public]}, ("ES256", "RS256", "PS256"))
        assert set(keys) == {("second", "ES256")}

    @pytest.mark.parametrize(
        "document", [None, [], {}, {"keys": {}}, {"keys": []}, {"keys": [{"kty": "oct", "k": "x"}]}, "keys"]
    )
    def test_that_holds_nothing_usable_is_a_failure(self, document: Any) -> None:
        with pytest.raises(FetchFailed):
            read_keys(document, ("ES256",))

    def test_of_thousands_is_read_in_part(self) -> None:
        keys = read_keys({"keys": [{**FIRST.public, "kid": str(number)} for number in range(5000)]}, ("ES256",))
        assert len(keys) == 100

    @settings(max_examples=examples(30))
    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(),
            lambda of: (
                st.lists(of)
                | st.dictionaries(st.sampled_from(["keys", "kty", "crv", "x", "y", "n", "e", "kid", "key_ops", "use"]), of)
            ),
        )
    )
    def test_of_any_shape_is_read_or_refused(self, document: Any) -> None:
        try:
            read_keys({"keys": [document]}, ("ES256", "RS256", "EdDSA"))
        except FetchFailed:
            return


class TestFetching:
    async def test_gets_json_from_this_machine_over_plain_http(self) -> None:
        async with serve_issuer(FIRST) as issuer:
            http = JsonFetcher()
            await http.start()
            assert await http.get_json(f"{issuer.url}/jwks") == {"keys": [FIRST.public]}
            await http.stop()
            with pytest.raises(FetchFailed, match="not started"):
                await http.get_json(f"{issuer.url}/jwks")

    @pytest.mark.parametrize(
        "url", ["http://id.example/jwks", "ftp://127.0.0.1/x", "file:///etc/passwd", "https://u:p@id.example/"]
    )
    async def test_goes_nowhere_else_without_tls(self, url: str) -> None:
        http = JsonFetcher()
        await http.start()
        with pytest.raises(FetchFailed, match="was not fetched"):
            await http.get_json(url)
        await http.stop()

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_follows_no_redirect(self, status: int) -> None:
        async with serve_issuer(FIRST) as issuer:
            issuer.answers["/moved"] = web.Response(status=status, headers={"Location": f"{issuer.url}/jwks"})
            http = JsonFetcher()
            await http.start()
            with pytest.raises(FetchFailed, match="redirects"):
                await http.get_json(f"{issuer.url}/moved")
            await http.stop()
            assert issuer.requests == ["/moved"]

    async def test_stops_reading_what_is_too_long(self) -> None:
        async with serve_issuer(FIRST) as issuer:
            issuer.flood = 1 << 24
            http = JsonFetcher(max_document=10_000)
            await http.start()
            with pytest.raises(FetchFailed, match="more than 10000 bytes"):
                await http.get_json(f"{issuer.url}/jwks")
            await http.stop()

    async def test_waits_no_longer_than_its_deadline(self) -> None:
        async with serve_issuer(FIRST) as issuer:
            issuer.delay = 3600.0
            http = JsonFetcher(deadline=0.05)
            await http.start()
            with pytest.raises(FetchFailed, match="within"):
                await http.get_json(f"{issuer.url}/jwks")
            await http.stop()

    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 500},
            {"status": 404, "text": "{}"},
            {"status": 200, "text": "<html>"},
            {"status": 200, "body": b"\xff\xfe"},
            {"status": 200, "body": b"[" * 100_000},
            {"status": 200, "body": b"\x1f\x8b\x08\x00", "headers": {"Content-Encoding": "gzip"}},
            {"status": 204},
        ],
    )
    async def test_takes_nothing_but_json(self, answer: dict[str, Any]) -> None:
        async with serve_issuer(FIRST) as issuer:
            issuer.answers["/x"] = web.Response(**answer)
            http = JsonFetcher()
            await http.start()
            with pytest.raises(FetchFailed):
                await http.get_json(f"{issuer.url}/x")
            await http.stop()

    async def test_says_when_nobody_is_there(self) -> None:
        async with serve_issuer(FIRST) as issuer:
            url = issuer.url
        http = JsonFetcher()
        await http.start()
        with pytest.raises(FetchFailed, match="cannot be reached"):
            await http.get_json(url)
        await http.stop()
