"""Finds the browser and the operating system in a header User-Agent. The result is only a hint: a browser can send any text."""

import msgspec

# The first match counts: nearly every browser also names older browsers in its header.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


class Agent(msgspec.Struct, frozen=True):
    """The browser and the operating system. A name is empty if the header does not contain a known name."""

    browser: str
    system: str


def describe_agent(user_agent: str) -> Agent:
    return Agent(_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent))


def _first(table: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for mark, name in table if mark in user_agent), "")
