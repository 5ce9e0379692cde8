"""A request that the connection answers directly and the same request on the ASGI way give the same bytes."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domogate.families.homeauto import FAMILY
from support.two_ways import ASKED, BROKEN, FOREIGN_PLANT, FRIEND, HELD, OFFLINE, OWN_PLANTS, TwoWays
from support.two_ways_surfaces import MAX_BODY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two_ways() -> Iterator[TwoWays]:
    with TwoWays() as running:
        yield running


def light(plant: str, module: str) -> str:
    return f"{FAMILY.prefix}/light/lighting/addressLocation/plants/{plant}/modules/parameter/id/value/{module}"


GOOD = light(OWN_PLANTS[0], HELD.id)
HEAD = b"%b %b HTTP/1.1\r\nHost: gateway\r\n"
CREDENTIALS = b"Ocp-Apim-Subscription-Key: key\r\nAuthorization: Bearer token\r\n"
LAST = b"GET " + GOOD.encode() + b" HTTP/1.1\r\nHost: gateway\r\n" + CREDENTIALS + b"Connection: close\r\n\r\n"

paths = st.sampled_from(
    [
        GOOD,
        *(light(OWN_PLANTS[1], module.id) for module in (HELD, ASKED, OFFLINE, BROKEN)),
        light(FOREIGN_PLANT, HELD.id),
        light(OWN_PLANTS[0], "not-an-id"),
        light(OWN_PLANTS[0], "%41%ff"),
        f"{GOOD}?a=b",
        f"{GOOD}/more",
        f"http://gateway{GOOD}",
        f"/{GOOD}",
        "/%68omeauto/v1.0/plants",
        "/homeauto",
        "/homeauto?x/y",
        "/elsewhere",
        "/healthz",
        *(f"{FAMILY.prefix}/plants/{plant}/topology" for plant in (*OWN_PLANTS, FOREIGN_PLANT)),
    ]
)
usual = st.sampled_from([CREDENTIALS] * 4 + [b""])
more_headers = st.lists(
    st.sampled_from(
        [
            CREDENTIALS,
            b"Ocp-Apim-Subscription-Key: limited\r\n",
            b"Ocp-Apim-Subscription-Key: slow\r\n",
            b"OCP-APIM-SUBSCRIPTION-KEY: unknown\r\n",
            b"Authorization: bearer slow\r\n",
            b"Authorization: Bearer unknown\r\n",
            b"Authorization: Bearer\r\n",
            b"Origin: " + FRIEND + b"\r\n",
            b"Origin: https://stranger.example\r\n",
            b"X-Request-Id: chosen-1\r\n",
            b"X-Request-Id: not safe\r\n",
            b"If-None-Match: *\r\n",
            b'If-None-Match: "a", "b"\r\n',
            b"Accept: text/html\r\n",
            b"Content-Length: 0\r\n",
            b"Connection: keep-alive\r\n",
            b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
            b"Expect: 100-continue\r\n",
            b"Host: second\r\n",
            b"Transfer-Encoding: gzip\r\n",
            b"X : bad name\r\n",
            b"X-Long: " + b"x" * 3_900 + b"\r\n",
        ]
    ),
    max_size=3,
).map(b"".join)
methods = st.sampled_from(["GET"] * 6 + ["HEAD", "OPTIONS", "DELETE", "BREW"])
requests = st.builds(
    lambda method, path, known, more: HEAD % (method.encode(), path.encode()) + known + more + b"\r\n",
    methods,
    paths,
    usual,
    more_headers,
)


bodies = st.sampled_from(
    [
        *[b'{"status":"on"}'] * 4,
        b'{"status":"off","level":0}',
        b'{"status":"on","status":"off"}',
        b'{"status":"bright"}',
        b'{"status":7}',
        b"{}",
        b"[]",
        b"null",
        b"",
        b'{"status":"on"',
        b'\xff{"status":"on"}',
        b'{"status":"on"}' + b" " * (MAX_BODY - 15),
        b'{"status":"on"}' + b" " * (MAX_BODY - 14),
        b'{"status":"on"}' + b" " * 20_000,
        b"GET " + GOOD.encode() + b" HTTP/1.1\r\nHost: gateway\r\n\r\n",
    ]
)
content_types = st.sampled_from(
    [b"Content-Type: application/json\r\n"] * 3
    + [
        b"",
        b"Content-Type: text/plain\r\n",
        b"Content-Type: application/json; charset=latin-1\r\n",
        b"Content-Encoding: gzip\r\n",
    ]
)
token_paths = st.sampled_from(["/auth/token"] * 4 + ["/auth/token/", "/auth/token?a=b", "/auth/other", "/auth/%74oken"])
FORM = b"grant_type=refresh_token&client_id=app&client_secret=secret&refresh_token=good"
forms = st.sampled_from(
    [
        *[FORM] * 4,
        FORM + b"&scope=light.write",
        FORM.replace(b"good", b"expired"),
        FORM.replace(b"good", b"broken"),
        FORM.replace(b"=secret", b"=wrong"),
        FORM.replace(b"=secret", b"=throttled"),
        FORM.replace(b"&client_secret=secret", b""),
        FORM.replace(b"&refresh_token=good", b""),
        FORM.replace(b"grant_type=refresh_token&", b""),
        FORM.replace(b"=refresh_token", b"=password"),
        FORM + b"&refresh_token=good",
        FORM + b"&" * 120 + b"x=1" * 20,
        FORM + b"&x=%ff",
        FORM + b"&x=" + b"y" * (MAX_BODY - len(FORM)),
        FORM + b"&x=" + b"y" * 20_000,
        b"",
        b'--x\r\nContent-Disposition: form-data; name="grant_type"\r\n\r\npassword\r\n--x--\r\n',
    ]
)
form_types = st.sampled_from(
    [b"Content-Type: application/x-www-form-urlencoded\r\n"] * 4
    + [
        b"",
        b"Content-Type: application/json\r\n",
        b"Content-Type: multipart/form-data; boundary=x\r\n",
        b"Authorization: Basic YXBwOnNlY3JldA==\r\n",
        b"Authorization: Basic ???\r\n",
    ]
)
ticket_paths = st.sampled_from(
    ["/tickets/redeem"] * 4 + ["/tickets/redeem/", "/tickets/redeem?a=b", "/tickets/picture", "/tickets"]
)
shown = st.sampled_from(
    [b'{"ticket":"%b"}' % word for word in (b"good", b"good", b"good", b"used", b"forged", b"throttled", b"broken")]
    + [b'{"ticket":"good","ticket":"good"}', b'{"ticket":1}', b'{"ticket":"good","more":1}', b"{}", b"[", b""]
    + [b'{"ticket":"%b"}' % (b"x" * size) for size in (MAX_BODY, 20_000)]
)

RESIDENT = b"Authorization: Bearer home\r\n"
DIM = b'{"do":"set light","on":true,"level":40}'


def order_path(plant: str, module: str) -> str:
    return f"/home/v1/homes/{plant}/modules/{module}/commands"


home_paths = st.sampled_from(
    [
        *[order_path(OWN_PLANTS[0], HELD.id)] * 3,
        *(order_path(OWN_PLANTS[1], module.id) for module in (ASKED, OFFLINE, BROKEN)),
        order_path(FOREIGN_PLANT, HELD.id),
        order_path(OWN_PLANTS[0], "not-an-id"),
        f"{order_path(OWN_PLANTS[0], HELD.id)}?a=b",
        f"/home/v1/homes/{OWN_PLANTS[0]}/scenes/{HELD.id}/run",
        "/home/v1/homes",
        "/home",
    ]
)
home_headers = st.sampled_from(
    [RESIDENT] * 4
    + [
        b"",
        RESIDENT + b"Idempotency-Key: again\r\n",
        RESIDENT + b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n",
        RESIDENT + b"Content-Type: text/plain\r\n",
    ]
)
home_bodies = st.sampled_from(
    [
        *[DIM] * 4,
        DIM.replace(b"40", b"400"),
        b'{"do":"open lock"}',
        b'{"do":"set light"}',
        b"{}",
        b"[",
        b"",
        b" " * MAX_BODY + DIM,
    ]
)


def chunked(body: bytes) -> bytes:
    size = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    return b"Transfer-Encoding: chunked\r\n\r\n" + size + b"0\r\n\r\n"


def measured(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def cut_short(body: bytes) -> bytes:
    """The declared length is too small by one, so the last byte begins the next request."""
    return b"Content-Length: %d\r\n\r\n" % max(0, len(body) - 1) + body


framings = st.sampled_from([measured] * 6 + [chunked, cut_short, lambda body: b"\r\n"])
posts = st.builds(
    lambda asked, known, more, framing: HEAD % (b"POST", asked[0].encode()) + known + asked[1] + more + framing(asked[2]),
    st.tuples(paths, content_types, bodies)
    | st.tuples(token_paths, form_types, forms)
    | st.tuples(ticket_paths, content_types, shown)
    | st.tuples(home_paths, home_headers, home_bodies),
    usual,
    more_headers,
    framings,
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A request in which one byte is replaced."""
    request = bytearray(draw(requests | posts))
    request[draw(st.integers(0, len(request) - 5))] = draw(st.sampled_from(b" \t\r\n\0:/?#%a\xc3\x7f"))
    return bytes(request)


@st.composite
def pieces(draw: st.DrawFn) -> list[bytes]:
    """Some requests, one after the other, cut at any bytes. The last request closes the connection."""
    sent = b"".join([*draw(st.lists(requests | posts | requests | posts | damaged(), max_size=6)), LAST])
    cuts = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=5)))
    return [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True) if start < end]


class TestTwoWays:
    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pieces())
    def test_they_answer_with_the_same_bytes(self, two_ways: TwoWays, sent: list[bytes]) -> None:
        direct, asgi = two_ways.exchange(sent)
        assert direct == asgi
        assert direct.startswith(b"HTTP/1.1 ")

    def test_each_kind_of_read_has_its_status_on_both(self, two_ways: TwoWays) -> None:
        for path, status in (
            (GOOD, 200),
            (light(OWN_PLANTS[1], ASKED.id), 200),
            (light(OWN_PLANTS[1], OFFLINE.id), 404),
            (light(OWN_PLANTS[0], BROKEN.id), 500),
            (light(FOREIGN_PLANT, HELD.id), 403),
        ):
            request = HEAD % (b"GET", path.encode()) + CREDENTIALS + b"\r\n"
            direct, asgi = two_ways.exchange([request * 12 + LAST])
            assert direct == asgi
            assert direct.count(b"HTTP/1.1 %d " % status) >= 12

    def test_each_kind_of_command_has_its_status_on_both(self, two_ways: TwoWays) -> None:
        on = b'{"status":"on"}'
        for path, credentials, body, status in (
            (GOOD, CREDENTIALS, on, 200),
            (light(OWN_PLANTS[1], ASKED.id), CREDENTIALS, on, 200),
            (light(OWN_PLANTS[1], OFFLINE.id), CREDENTIALS, on, 404),
            (light(OWN_PLANTS[0], BROKEN.id), CREDENTIALS, on, 500),
            (light(FOREIGN_PLANT, HELD.id), CREDENTIALS, on, 403),
            (GOOD, b"", on, 401),
            (GOOD, CREDENTIALS, b'{"status":"on","status":"on"}', 400),
            (GOOD, CREDENTIALS, on + b" " * MAX_BODY, 413),
        ):
            request = HEAD % (b"POST", path.encode()) + credentials + measured(body)
            before = two_ways.through_asgi
            direct, asgi = two_ways.exchange([request * 12 + LAST])
            assert two_ways.through_asgi == (before[0], before[1] + 13)
            assert direct == asgi
            assert direct.count(b"HTTP/1.1 %d " % status) >= 12

    @pytest.mark.parametrize(
        ("path", "body", "status"),
        [
            ("/auth/token", FORM, 200),
            ("/auth/token", FORM.replace(b"good", b"expired"), 400),
            ("/auth/token", FORM.replace(b"good", b"broken"), 500),
            ("/auth/token", FORM.replace(b"=secret", b"=wrong"), 401),
            ("/auth/token", FORM.replace(b"=secret", b"=throttled"), 429),
            ("/auth/token", FORM + b"&x=" + b"y" * MAX_BODY, 413),
            ("/tickets/redeem", b'{"ticket":"good"}', 200),
            ("/tickets/redeem", b'{"ticket":"used"}', 409),
            ("/tickets/redeem", b'{"ticket":"forged"}', 401),
            ("/tickets/redeem", b'{"ticket":"throttled"}', 429),
            ("/tickets/redeem", b'{"ticket":"broken"}', 500),
            ("/tickets/redeem", b'{"ticket":"%b"}' % (b"x" * MAX_BODY), 413),
        ],
    )
    def test_tokens_and_tickets_have_their_status_on_both(self, two_ways: TwoWays, path: str, body: bytes, status: int) -> None:
        request = HEAD % (b"POST", path.encode()) + measured(body)
        before = two_ways.through_asgi
        direct, asgi = two_ways.exchange([request * 12 + LAST])
        assert direct == asgi
        assert direct.count(b"HTTP/1.1 %d " % status) == 12 + (status == 200)
        assert two_ways.through_asgi == (before[0], before[1] + 13)

    @pytest.mark.parametrize(
        ("path", "headers", "body", "status"),
        [
            (order_path(OWN_PLANTS[0], HELD.id), RESIDENT, DIM, 200),
            (order_path(OWN_PLANTS[1], ASKED.id), RESIDENT, DIM, 200),
            (order_path(OWN_PLANTS[1], OFFLINE.id), RESIDENT, DIM, 200),
            (order_path(OWN_PLANTS[0], BROKEN.id), RESIDENT, DIM, 500),
            (order_path(FOREIGN_PLANT, HELD.id), RESIDENT, DIM, 403),
            (order_path(OWN_PLANTS[0], HELD.id), CREDENTIALS, DIM, 401),
            (order_path(OWN_PLANTS[0], HELD.id), b"", DIM, 401),
            (order_path(OWN_PLANTS[0], HELD.id), RESIDENT, b'{"do":"open lock"}', 400),
            (order_path(OWN_PLANTS[0], HELD.id), RESIDENT, DIM + b" " * MAX_BODY, 413),
            ("/home/v1/unknown", RESIDENT, DIM, 404),
        ],
    )
    def test_commands_of_residents_have_their_status_on_both(
        self, two_ways: TwoWays, path: str, headers: bytes, body: bytes, status: int
    ) -> None:
        request = HEAD % (b"POST", path.encode()) + headers + measured(body)
        before = two_ways.through_asgi
        direct, asgi = two_ways.exchange([request * 12 + LAST])
        assert direct == asgi
        assert direct.count(b"HTTP/1.1 %d " % status) == 12 + (status == 200)
        assert two_ways.through_asgi == (before[0], before[1] + 13)

    def test_both_count_the_same_requests(self) -> None:
        with TwoWays() as fresh:
            for path in (GOOD, light(OWN_PLANTS[1], ASKED.id), light(OWN_PLANTS[1], OFFLINE.id), "/homeauto/unknown"):
                for credentials in (CREDENTIALS, b""):
                    fresh.exchange([(HEAD % (b"GET", path.encode()) + credentials + b"\r\n") * 3 + LAST])
                    post = HEAD % (b"POST", path.encode()) + credentials + measured(b'{"status":"on"}')
                    fresh.exchange([post * 2 + LAST])
            deadline = time.monotonic() + 60
            while fresh.counts[0] != fresh.counts[1] and time.monotonic() < deadline:
                time.sleep(0.05)
            assert fresh.counts[0] == fresh.counts[1]
            assert fresh.counts[0]["E8", 200] == 3 + 3 + 16
            assert fresh.counts[0]["E8", 401] == 9
            assert (fresh.counts[0]["X2", 200], fresh.counts[0]["X2", 401]) == (4, 6)
