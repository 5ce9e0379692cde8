"""A package registry of npm with one package."""

import base64
import hashlib
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


@contextmanager
def npm_registry(package: Path) -> Iterator[str]:
    """Serve this packed package. Yields the URL of the registry."""
    with tarfile.open(package) as archive:
        described = archive.extractfile("package/package.json")
        assert described is not None
        manifest = json.load(described)
    content = package.read_bytes()
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(content).digest()).decode()}"

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = {f"/{manifest['name']}": self.describe(), f"/{package.name}": content}
            body = answers.get(unquote(self.path))
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def describe(self) -> bytes:
            dist = {"tarball": f"{url}/{package.name}", "integrity": integrity}
            version = manifest["version"]
            versions = {version: {**manifest, "dist": dist}}
            return json.dumps({"name": manifest["name"], "dist-tags": {"latest": version}, "versions": versions}).encode()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield url
        finally:
            server.shutdown()
