"""Calls every operation with plain HTTP, and keeps requests and answers as examples for the OpenAPI documents.

    cd tests && ../.dev/venv/bin/python -m support.sdk_recording

writes src/domogate/wire/examples.json. Run it when an operation is new, or when its request or answer changes.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from support.http import PATIENCE
from support.sdk_calls import CALLS, NO_BODY, Call
from support.sdk_demo import SdkDemo, open_sdk_demo

FILE = Path(__file__).parents[2] / "src" / "domogate" / "wire" / "examples.json"

_MOST_ITEMS = 2
_SECRETS = {"secret": "whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZQ==", "key": "example-subscription-key"}
_TODAY = datetime.now(UTC).date()
_REPLACED = {
    re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"): "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJleGFtcGxlIjp0cnVlfQ.ZXhhbXBsZQ",
    re.compile(r"(\?token=)[\w-]+"): r"\1example",
    re.compile(rf"{re.escape(tempfile.gettempdir())}/\w+/data"): "/var/lib/domogate",
    # Times of this run, and of yesterday and tomorrow in other time zones.
    re.compile("|".join(rf"{_TODAY + timedelta(days)}T\d\d:\d\d:\d\d(\.\d+)?" for days in (-1, 0, 1))): "2026-11-15T08:30:00",
}
_NEW_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-(?!4000-8000)[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Ids of the demo have fixed digits in the middle."""


def documents_of(base_url: str) -> dict[str, Any]:
    """All documents that the gateway lists, by name."""
    urls = httpx.get(f"{base_url}/openapi", trust_env=False).json()["documents"]
    return {name: httpx.get(url, trust_env=False).json() for name, url in urls.items()}


def operations_of(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and description of each operation."""
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            yield path, method.upper(), described


def place_of(document: dict[str, Any], operation: str) -> tuple[str, str]:
    """Path and method."""
    return next((path, method) for path, method, one in operations_of(document) if one["operationId"] == operation)


def send(http: httpx.Client, demo: SdkDemo, document: dict[str, Any], call: Call) -> tuple[int, str, bytes]:
    """Status, media type and body of the answer. For a stream, only the beginning of the body."""
    path, method = place_of(document, call.operation)
    url = path.format(**demo.fill(call.path))
    query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in call.query.items()}
    body = None if call.body is NO_BODY else demo.fill(call.body)
    with http.stream(method, url, params=query, json=body, headers=demo.headers_for(call)) as answer:
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        content = next(answer.iter_bytes()) if media_type == "text/event-stream" else answer.read()
    return answer.status_code, media_type, content


def record(demo: SdkDemo) -> dict[str, dict[str, Any]]:
    """The examples by document and operation. Fails for a call that does not succeed."""
    documents = documents_of(demo.gateway.base_url)
    examples: dict[str, dict[str, Any]] = {name: {} for name in documents}
    cleaner = _Cleaner(demo)
    with httpx.Client(base_url=demo.gateway.base_url, trust_env=False, timeout=PATIENCE) as http:
        for call in CALLS:
            status, media_type, content = send(http, demo, documents[call.document], call)
            assert status == call.status, f"{call.name}: {status} {content.decode(errors='replace')}"
            example: dict[str, Any] = {"parameters": {**demo.fill(call.path), **call.query}}
            if call.body is not NO_BODY:
                example["body"] = demo.fill(call.body)
            if media_type == "application/json":
                answer = json.loads(content)
                demo.keep(call, answer)
                example["answer"] = answer
            elif media_type in ("application/xml", "text/event-stream"):
                example["answer"] = content.decode()
            elif media_type == "application/jsonl":
                example["answer"] = "".join(content.decode().splitlines(keepends=True)[:_MOST_ITEMS])
            examples[call.document].setdefault(call.operation, cleaner.clean(example))
    return examples


class _Cleaner:
    """Removes tokens, secrets, addresses, times and new ids of this run, and shortens lists."""

    def __init__(self, demo: SdkDemo) -> None:
        self._addresses = {
            demo.gateway.base_url: "https://gateway.example",
            demo.known["receiver"]: "https://receiver.example",
            demo.known["broker"]: "mqtt://broker.example:1883",
        }
        self._ids: dict[str, str] = {}

    def clean(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {inner: self.clean(one, inner) for inner, one in value.items()}
        if isinstance(value, list):
            return [self.clean(one) for one in value[:_MOST_ITEMS]]
        if not isinstance(value, str):
            return value
        if name in _SECRETS:
            return _SECRETS[name]
        for address, example in self._addresses.items():
            value = value.replace(address, example)
        for pattern, replacement in _REPLACED.items():
            value = pattern.sub(replacement, value)
        return _NEW_ID.sub(self._replace_id, value)

    def _replace_id(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"e0000000-0000-4000-8000-{len(self._ids):012}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, open_sdk_demo(Path(folder)) as demo:
        examples = record(demo)
    FILE.write_text(json.dumps(examples, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
