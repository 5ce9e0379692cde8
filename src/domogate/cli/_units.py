"""Fills in the templates of the files for systemd.

The build of the documentation imports this module where the Python packages that the gateway needs are not installed. So this
module must import none of these packages.
"""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

PLACES = {
    "domogate.service": "etc/systemd/system/domogate.service",
    "domogate.socket": "etc/systemd/system/domogate.socket",
    "sysusers.conf": "etc/sysusers.d/domogate.conf",
    "tmpfiles.conf": "etc/tmpfiles.d/domogate.conf",
}
"""The path of each file, without the first `/`."""
LINKS = (
    "etc/systemd/system/multi-user.target.wants/domogate.service",
    "etc/systemd/system/sockets.target.wants/domogate.socket",
)
"""The path of each link that `systemctl enable` makes, without the first `/`."""
SETTINGS = "--config /etc/domogate/domogate.toml --data /var/lib/domogate"
PROGRAM = Path("/opt/domogate/bin/domogate")
"""The path of the program, as the documentation recommends it."""
LISTEN = ("127.0.0.1:8080",)


def fill_units(program: Path = PROGRAM, listen: Sequence[str] = LISTEN, credentials: Sequence[str] = ()) -> dict[str, str]:
    """Return the texts of the files for systemd. The key of each text is the path of its file, without the first `/`.

    `listen` and `credentials` are the values of `ListenStream=` and `LoadCredential=`.
    """
    values = {
        "@PROGRAM@": f"{program} serve {SETTINGS}",
        "@LISTEN@\n": "".join(f"ListenStream={one}\n" for one in listen),
        "@CREDENTIALS@\n": "".join(f"LoadCredential={one}\n" for one in credentials),
    }
    texts = {}
    for name, place in PLACES.items():
        text = files("domogate.cli").joinpath("units", name).read_text("utf-8")
        for key, value in values.items():
            text = text.replace(key, value)
        texts[place] = text
    return texts
