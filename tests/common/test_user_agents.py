"""The browser and the operating system that a User-Agent header names."""

import pytest

from domogate.common.user_agents import describe_agent


@pytest.mark.parametrize(
    ("agent", "browser", "system"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox", "Linux"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile Safari/604.1",
            "Safari",
            "iPhone",
        ),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome", "Android"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge", "Windows"),
        ("curl/8.0", "", ""),
        ("", "", ""),
    ],
)
def test_browser_and_system_are_recognised(agent: str, browser: str, system: str) -> None:
    found = describe_agent(agent)
    assert (found.browser, found.system) == (browser, system)
