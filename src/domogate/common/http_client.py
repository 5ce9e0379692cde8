"""HTTP client sessions with strict limits: a deadline, no cookies, no proxy from the environment, a maximum size."""

import aiohttp


def open_session(
    deadline: float, headers: dict[str, str], connector: aiohttp.BaseConnector | None = None
) -> aiohttp.ClientSession:
    """Proxies and netrc of the environment are ignored: the operator configures a URL and nothing else."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=deadline),
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,  # a decompressed response could exceed the size limit
        headers={"Accept-Encoding": "identity", "User-Agent": "domogate", **headers},
    )


async def read_limited(response: aiohttp.ClientResponse, limit: int) -> bytes | None:
    """The body, or None if it is longer than `limit`. A longer one is not read to its end."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)
