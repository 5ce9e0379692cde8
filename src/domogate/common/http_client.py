"""HTTP client sessions with a deadline and a size limit, without cookies, and without a proxy from the environment.

aiohttp is large, and many gateways never send an HTTP request. So aiohttp is imported when the first request is sent (Decision
0098).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp


def open_session(
    deadline: float, headers: dict[str, str], connector: "aiohttp.BaseConnector | None" = None
) -> "aiohttp.ClientSession":
    """Return an HTTP client whose requests may take at most `deadline` seconds.

    The client ignores the proxy variables and the netrc file of the environment. So a request goes directly to the host of its
    URL, and no password is added.
    """
    import aiohttp

    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=deadline),
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,  # a decompressed response could exceed the size limit
        headers={"Accept-Encoding": "identity", "User-Agent": "domogate", **headers},
    )


async def read_limited(response: "aiohttp.ClientResponse", limit: int) -> bytes | None:
    """Return the body of the response. If the body has more than `limit` bytes, stop reading and return None."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)
