"""The HTML page (the shell) that loads the scripts of the pages, and the files that belong to it: the logo of the operator, the
icons, and the manifest for phones.
"""

import html
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from domogate.console.files import Build, File, make_file

LOGO = "/logo"
ICON = "/icon.svg"
WEB_MANIFEST = "/manifest.webmanifest"
TOUCH_ICON = "/icon-180.png"
PNG_ICONS = {f"/icon-{size}.png": size for size in (180, 192, 512)}
"""Icons for phones that cannot show an SVG icon, by path, with their size. The picture fills the square, so that a phone can
show it as a circle.
"""

_LARGEST_LOGO = 262_144
_LOGO_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="{icon}" type="image/svg+xml">
"""

_SHELL = (
    _HEAD
    + """<meta name="theme-color" content="#fffefc" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#1c2322" media="(prefers-color-scheme: dark)">
<link rel="apple-touch-icon" href="{touch_icon}">
<link rel="manifest" href="{manifest}">
<link rel="stylesheet" href="{style}">
{preloads}<script type="module" src="{script}"></script>
<script type="application/json" id="config">{config}</script>
</head>
<body>
<noscript>These pages need JavaScript. Without it you can still use <a href="/auth/account">your account</a>.</noscript>
<div id="app"></div>
</body>
</html>
"""
)

# This page has the style sheet of the login pages, because the style sheet of the pages is not built.
_NOT_BUILT = (
    _HEAD
    + """<link rel="stylesheet" href="/auth/pages/style.css?{version}">
</head>
<body class="narrow">
<header class="top"><span class="wordmark"><span class="gate" aria-hidden="true"></span>{name}</span></header>
<main>
<h1>{title}</h1>
<p class="lead">{lead}</p>
<p>For the operator: run <code>{command}</code> in the checkout. If the gateway is installed elsewhere, install it again. Then
restart it.</p>
<p>{instead}</p>
</main>
</body>
</html>
"""
)
_NO_PAGES = {
    "title": "The pages are not built",
    "lead": "The gateway runs, but these pages are missing.",
    "command": "./dev web",
    "instead": 'Without these pages you can still use <a href="/auth/account">your account</a>.',
}
_NO_DOCUMENTATION = {
    "title": "The documentation is not built",
    "lead": "The gateway runs, but its documentation is missing.",
    "command": "./dev site",
    "instead": "You can also read the files in <code>docs/</code>.",
}

_ICON = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="#0f6157"/>\
<path d="M20 50V29a12 12 0 0 1 24 0v21" fill="none" stroke="#fff" stroke-width="6" stroke-linecap="round"/></svg>
"""


class DemoUser(msgspec.Struct, frozen=True):
    """A user of the demo. The password is public."""

    email: str
    name: str
    password: str
    operator: bool = False


class Demo(msgspec.Struct, frozen=True):
    """The public credentials of the demo. If there are `users`, the pages log a user in with one click. If there is a
    `subscription_key`, the pages call the families with it.
    """

    users: tuple[DemoUser, ...] = ()
    subscription_key: str | None = None


NO_DEMO = Demo()


class Logo(msgspec.Struct, frozen=True):
    media_type: str
    content: bytes


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The data of this gateway that the pages show: the name and logo of its operator, its version and its URL."""

    name: str
    version: str
    base_url: str
    logo: Logo | None = None
    demo: Demo = NO_DEMO

    @property
    def origin(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    """The configuration that the script in `web/src/app/config.ts` reads."""

    name: str
    logo: str | None
    version: str
    origin: str
    demo: tuple[DemoUser, ...]
    demo_key: str | None
    is_new: bool
    """True if the gateway has no active operator yet. Then the first page asks for the link that `domogate serve` or
    `domogate init` prints.
    """


class _WebIcon(msgspec.Struct, frozen=True):
    src: str
    type: str
    sizes: str = "any"
    purpose: str = "any"


class _WebManifest(msgspec.Struct, frozen=True):
    """The web app manifest: tells a phone the name, icons and colours of the pages (https://www.w3.org/TR/appmanifest/)."""

    name: str
    short_name: str
    icons: tuple[_WebIcon, ...]
    id: str = "/homes"
    start_url: str = "/homes"
    scope: str = "/"
    display: str = "standalone"
    background_color: str = "#f4f2ee"
    theme_color: str = "#0f6157"


def read_logo(path: Path) -> Logo:
    """Read the operator's logo. Raises ValueError if it is not an SVG or PNG file or has more than `_LARGEST_LOGO` bytes."""
    media_type = _LOGO_TYPES.get(path.suffix.lower())
    if media_type is None:
        raise ValueError("an SVG or PNG file is allowed, with a name that ends with .svg or .png")
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_LOGO + 1)
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST_LOGO:
        raise ValueError(f"the file has more than {_LARGEST_LOGO} bytes; use a smaller image")
    is_image = content.startswith(b"\x89PNG\r\n\x1a\n") if path.suffix.lower() == ".png" else b"<svg" in content
    if not is_image:
        raise ValueError(f"the file is not an image of the type {media_type}")
    return Logo(media_type, content)


def make_shell(build: Build, identity: Identity, area: str, *, is_new: bool = False) -> File:
    config = _Config(
        name=identity.name,
        logo=None if identity.logo is None else LOGO,
        version=identity.version,
        origin=identity.origin,
        demo=identity.demo.users,
        demo_key=identity.demo.subscription_key,
        is_new=is_new,
    )
    # A name must not be able to end the script element.
    text = msgspec.json.encode(config).decode().replace("<", "\\u003c")
    page = _SHELL.format(
        name=html.escape(identity.name),
        icon=ICON,
        touch_icon=TOUCH_ICON,
        manifest=WEB_MANIFEST,
        style=build.style_url,
        script=build.script_url,
        preloads="".join(f'<link rel="modulepreload" href="{url}">\n' for url in build.list_preloaded(area)),
        config=text,
    )
    return make_file(page.encode(), "text/html; charset=utf-8")


def make_not_built(identity: Identity, texts: dict[str, str] = _NO_PAGES) -> bytes:
    """Return the page that is shown instead of all pages if the pages are not built."""
    return _NOT_BUILT.format(name=html.escape(identity.name), icon=ICON, version=identity.version, **texts).encode()


def make_documentation_not_built(identity: Identity) -> bytes:
    """Return the page that is shown instead of the documentation if the documentation is not built."""
    return make_not_built(identity, _NO_DOCUMENTATION)


@cache
def _read_icons() -> dict[str, File]:
    folder = Path(__file__).parent / "icons"
    return {path: make_file((folder / path.strip("/")).read_bytes(), "image/png") for path in PNG_ICONS}


def make_identity_files(identity: Identity) -> dict[str, File]:
    """Return the icons, the manifest and the logo, by path.

    The URLs of these files do not change when their content changes. So a browser must ask each time whether its copy is still
    current.
    """
    icons = (
        _WebIcon(ICON, "image/svg+xml"),
        *(
            _WebIcon(path, "image/png", f"{size}x{size}", "any maskable")
            for path, size in PNG_ICONS.items()
            if path != TOUCH_ICON
        ),
    )
    manifest = _WebManifest(identity.name, identity.name[:12], icons)
    files = {
        **_read_icons(),
        ICON: make_file(_ICON, "image/svg+xml"),
        WEB_MANIFEST: make_file(msgspec.json.encode(manifest), "application/manifest+json"),
    }
    if identity.logo is not None:
        files[LOGO] = make_file(identity.logo.content, identity.logo.media_type)
    return files
