"""Links from the documentation to other sites have the right form. `./dev site --links` finds pages that do not exist."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docsite.__main__ import check_links
from docsite.building import ROOT
from docsite.links import HOSTS, ask_all, collect_links, find_links, find_mistake, list_pages
from support.ports import free_port

LINKS = collect_links(list_pages(ROOT))


PATIENCE = 60.0
OVER = threading.Event()
"""Set when the server ends."""


class Site(BaseHTTPRequestHandler):
    """Answers with the status in the path. /get answers only GET, and /slow answers when the server ends."""

    def do_GET(self) -> None:
        name = self.path.strip("/")
        if name == "slow":
            OVER.wait(PATIENCE)
        elif name == "moved":
            self.send_response(302)
            self.send_header("Location", "/200")
            self.end_headers()
            return
        status = (200 if self.command == "GET" else 405) if name == "get" else int(name) if name.isdigit() else 200
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        OVER.clear()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            OVER.set()
            server.shutdown()


class TestForm:
    def test_links_are_found(self) -> None:
        assert len(LINKS) > 20
        assert ROOT / "docs" / "releasing.md" in LINKS["https://semver.org/spec/v2.0.0.html"]

    @pytest.mark.parametrize("url", sorted(LINKS))
    def test_each_link_has_the_right_form_and_a_known_host(self, url: str) -> None:
        assert find_mistake(url) == ""

    def test_each_known_host_is_used(self) -> None:
        assert {url.split("/")[2] for url in LINKS} == HOSTS

    @pytest.mark.parametrize(
        "url",
        [
            "http://semver.org/",
            "https://semver.org.example.com/",
            "https://user@semver.org/",
            "https://semver.org:8443/",
            "https://semver.org/a\u00e4",
            "https://semver.org/spec.",
            "https:/semver.org/",
        ],
    )
    def test_a_wrong_form_is_noticed(self, url: str) -> None:
        assert find_mistake(url)

    def test_all_ways_to_write_a_link_are_known_and_code_is_left_out(self) -> None:
        text = """[a](https://a.example/x) <https://b.example> <img src="https://c.example/p.png">

[d]: https://d.example
`[e](https://e.example)`

```md
[f](https://f.example)
```
"""
        assert {url.split("/")[2] for url in find_links(text)} == {"a.example", "b.example", "c.example", "d.example"}


@pytest.mark.slow
class TestAsking:
    def test_pages_that_exist_are_not_reported(self) -> None:
        with site() as base:
            assert ask_all([f"{base}/{path}" for path in ("200", "200#part", "get", "moved", "429")]) == []

    @pytest.mark.parametrize(("path", "reason"), [("404", "status 404"), ("500", "status 500"), ("slow", "timed out")])
    def test_other_answers_are_reported(self, path: str, reason: str) -> None:
        with site() as base:
            (dead,) = ask_all([f"{base}/{path}"], timeout=0.3 if path == "slow" else PATIENCE)
        assert dead.url == f"{base}/{path}"
        assert reason in dead.reason

    def test_a_host_that_does_not_answer_is_reported(self) -> None:
        (dead,) = ask_all([f"http://127.0.0.1:{free_port()}/"])
        assert "refused" in dead.reason

    def test_the_command_names_the_page_of_a_dead_link(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = tmp_path / "page.md"
        with site() as base:
            page.write_text(f"[gone]({base}/404#part) [here]({base}/200)\n")
            assert check_links([page]) == 1
            assert (
                f"{base}/404: status 404 ({os.path.relpath(page, ROOT)})\n2 links to other sites, 1 pages"
                in capsys.readouterr().out
            )
            page.write_text(f"[here]({base}/200)\n")
            assert check_links([page]) == 0
