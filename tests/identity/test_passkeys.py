"""The library for passkeys is imported late, and not on the thread of the event loop (Decision 0098)."""

import subprocess
import sys

import pytest

_SCRIPT = """
import asyncio, sys, threading
from domogate.identity.passkeys import WebAuthnVerifier
from domogate.identity.relying_party import RelyingParty
from domogate.ports import PasskeyRefused

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "webauthn" or name.startswith("webauthn."):
            print(threading.current_thread() is threading.main_thread())

async def use():
    verifier = WebAuthnVerifier(RelyingParty("gate.example", "https://gate.example"))
    try:
        await {call}
    except PasskeyRefused:
        pass

assert "webauthn" not in sys.modules
sys.meta_path.insert(0, Watch())
asyncio.run(use())
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", ["verifier.request_options((), bytes(32))", "verifier.read_answer('{}')"])
def test_the_event_loop_does_not_wait_for_the_import(call: str) -> None:
    script = _SCRIPT.replace("{call}", call)
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120).stdout
    assert set(shown.split()) == {"False"}
