"""Logs in many people at once. It runs in a separate process, so that it does not delay the measurement.

python -m benchmarks.crowd PORT PEOPLE

It prints a line when it is ready, and begins when it has read a line.
"""

import asyncio
import re
import ssl
import sys
import time

import httpx

from benchmarks.estates import PASSWORD, email_of
from benchmarks.load import run_in_background


async def log_in_all(port: int, people: int) -> float:
    """Returns the number of seconds until all people were logged in."""
    tls = ssl.create_default_context()  # Made only once, because it takes longer than the rest of a client.
    started = time.perf_counter()
    await asyncio.gather(*(_log_in(port, email_of(number), tls) for number in range(people)))
    return time.perf_counter() - started


async def _log_in(port: int, email: str, tls: ssl.SSLContext) -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120, verify=tls) as http:
        page = (await http.get("/auth/login")).text
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
        answer = await http.post("/auth/login", data=fields | {"email": email, "password": PASSWORD})
        if answer.status_code not in (302, 303):
            raise RuntimeError(f"a login was answered {answer.status_code}")


if __name__ == "__main__":
    run_in_background()
    print("ready", flush=True)
    sys.stdin.readline()
    print(asyncio.run(log_in_all(int(sys.argv[1]), int(sys.argv[2]))))
