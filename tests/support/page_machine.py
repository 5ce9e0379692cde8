"""A machine for a page that changes one: a folder stands for /, and programs stand for sudo, systemd and the ports of nginx.

nginx, curl, openssl and the gateway are the real ones. If the tests run as root, the user `domogate` has another number than
root, so the test sees which files belong to whom.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from support.gateway import eventually
from support.named_code import ROOT
from support.ports import free_port

_NOBODY = 65534
_IS_ROOT = os.geteuid() == 0
SERVICE_USER = _NOBODY if _IS_ROOT else os.geteuid()
SERVICE_GROUP = _NOBODY if _IS_ROOT else os.getegid()
HOST = "gateway.example.com"
# The user may read all files, because the Python of the tests can be in a folder of root. It may not write to them.
_READ_ALL = "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
_AS_SERVICE = f"setpriv --reuid={_NOBODY} --regid={_NOBODY} --clear-groups {_READ_ALL}" if _IS_ROOT else ""

_PROGRAMS = {
    "sudo": """
        case "$*" in
        *"service install"*) exec "$@" --root @ROOT@ --program /opt/domogate/bin/domogate ;;
        "ls "*/backups)  # the reader waits until one minute has passed
            for second in $(seq 180); do
                if compgen -G '@ROOT@/var/lib/domogate/backups/*.sqlite3' >/dev/null; then break; fi
                sleep 1
            done ;;
        esac
        [ "$1" = -u ] || exec "$@"
        [ "$2" = domogate ] || exit 1
        shift 2
        exec @AS_SERVICE@ "$@"
    """,
    "systemd-sysusers": """
        grep -q '^u domogate ' @ROOT@/etc/sysusers.d/domogate.conf
    """,
    "systemd-tmpfiles": """
        [ "$*" = --create ] || exit 1
        grep '^[df] ' @ROOT@/etc/tmpfiles.d/domogate.conf | while read -r kind path mode user group _; do
            case $kind in d) mkdir -p "@ROOT@$path" ;; f) touch "@ROOT@$path" ;; esac
            chmod "$mode" "@ROOT@$path"
            [ "$(id -u)" != 0 ] || chown "$(echo "$user:$group" | sed 's/domogate/@NOBODY@/g; s/root/0/g')" "@ROOT@$path"
        done
    """,
    "systemctl": """
        case "$*" in
        daemon-reload) ;;
        "enable --now domogate.socket domogate.service")
            unit=@ROOT@/etc/systemd/system/domogate.service
            command=$(sed -n 's/^ExecStart=//p' $unit | sed 's| /| @ROOT@/|g; s|^[^ ]*|@DOMOGATE@|')
            cd "@ROOT@$(sed -n 's/^WorkingDirectory=//p' $unit)"
            umask "$(sed -n 's/^UMask=//p' $unit)"
            @AS_SERVICE@ $command >@ROOT@/run/gateway.log 2>&1 </dev/null &
            echo $! >@ROOT@/run/gateway.pid
            until grep -q 'Serving on\\|Listening on' @ROOT@/run/gateway.log; do
                kill -0 $! || { cat @ROOT@/run/gateway.log; exit 1; }
                sleep 0.1
            done ;;
        "restart nginx")
            nginx -g 'daemon off;' >@ROOT@/run/nginx.log 2>&1 </dev/null &
            until [ -s @ROOT@/run/nginx.pid ]; do
                kill -0 $! || { cat @ROOT@/run/nginx.log; exit 1; }
                sleep 0.1
            done ;;
        *) exit 1 ;;
        esac
    """,
    "nginx": """
        for file in @ROOT@/etc/nginx/conf.d/*.conf; do
            sed '/listen \\[::\\]:/d; s/listen 443 /listen 127.0.0.1:@HTTPS@ /; s/listen 80;/listen 127.0.0.1:@HTTP@;/
                s/127\\.0\\.0\\.1:8080/127.0.0.1:@GATEWAY@/; s|/etc/domogate|@ROOT@/etc/domogate|' \\
                "$file" >"@ROOT@/run/site/${file##*/}"
        done
        exec @NGINX@ -e stderr -c @ROOT@/etc/nginx/nginx.conf "$@"
    """,
    "curl": """
        exec @CURL@ --fail-with-body --connect-to gateway.example.com::127.0.0.1: "$@"
    """,
}
_DEFAULT_SITE = "server { listen 127.0.0.1:@HTTP@ default_server; return 200 'Welcome to nginx'; }\n"


class Machine:
    """The machine of a technician. `folder` must be open to all users."""

    def __init__(self, folder: Path, broker_port: int) -> None:
        self.root = folder
        self.https, self.http, self.gateway, self.metrics = (free_port() for _ in range(4))
        self.domogate = Path(sys.executable).with_name("domogate")
        self._broker_port = broker_port
        for name in ("bin", "run/site", "var/lib", "etc/nginx/conf.d", "etc/nginx/sites-enabled"):
            (folder / name).mkdir(parents=True)
        for name, text in _PROGRAMS.items():
            program = folder / "bin" / name
            program.write_text(f"#!/bin/bash\nset -e -o pipefail\n{self._fill_in(text)}")
            program.chmod(0o755)
        (folder / "etc/nginx/sites-enabled/default").write_text(self._fill_in(_DEFAULT_SITE))
        main = (ROOT / "deploy" / "nginx" / "nginx.conf").read_text().replace("/tmp/", f"{folder}/run/")
        sites = f"include {folder}/run/site/*.conf;\n    include {folder}/etc/nginx/sites-enabled/*;"
        (folder / "etc/nginx/nginx.conf").write_text(main.replace("include /etc/nginx/conf.d/*.conf;", sites))

    @property
    def names(self) -> dict[str, str]:
        """Words of the page, with what the test uses instead."""
        return {
            "/etc/domogate": f"{self.root}/etc/domogate",
            "/etc/nginx": f"{self.root}/etc/nginx",
            "/var/lib/domogate": f"{self.root}/var/lib/domogate",
            "/opt/domogate/bin/domogate": str(self.domogate),
            f"https://{HOST}": self.url,
            "broker.lan": "127.0.0.1",
            "1883": str(self._broker_port),
            "8080": str(self.gateway),
            "9185": str(self.metrics),
        }

    @property
    def variables(self) -> dict[str, str]:
        return {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.https}"

    @property
    def data(self) -> Path:
        return self.root / "var" / "lib" / "domogate"

    def stop(self) -> None:
        """Stop the gateway and nginx, if they run."""
        for number in [file.read_text().strip() for file in (self.root / "run").glob("*.pid")]:
            with suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGTERM)
            eventually(partial(_has_ended, number), f"process {number} has ended")

    def _fill_in(self, text: str) -> str:
        nginx, curl = (shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("nginx", "curl"))
        values = {
            "ROOT": self.root,
            "AS_SERVICE": _AS_SERVICE,
            "NOBODY": _NOBODY,
            "DOMOGATE": self.domogate,
            "HTTPS": self.https,
            "HTTP": self.http,
            "GATEWAY": self.gateway,
            "NGINX": nginx,
            "CURL": curl,
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", str(value))
        return text


def _has_ended(number: str) -> bool:
    """Whether the process does not run any more. Its parent may not have noticed yet (state Z)."""
    try:
        return Path("/proc", number, "stat").read_text().rpartition(") ")[2].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True
