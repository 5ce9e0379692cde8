"""The health check of the image: exit code 0 if the gateway of this container answers /readyz with 200.

It reads the settings of the gateway from the variables and from the file of DOMOGATE_CONFIG, but not from flags.
"""

import http.client
import os
import ssl
import sys
from ipaddress import ip_address

from domogate.settings import Settings, load_settings

_SECONDS = 5.0


def is_ready(settings: Settings) -> bool:
    """Ask the gateway. The certificate is not checked, because it has another name than localhost."""
    host = _find_own_address(settings.host)
    if settings.tls_certificate is None:
        connection = http.client.HTTPConnection(host, settings.port, timeout=_SECONDS)
    else:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, settings.port, timeout=_SECONDS, context=context)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _find_own_address(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:  # a name
        return host
    return {4: "127.0.0.1", 6: "::1"}[address.version] if address.is_unspecified else host


if __name__ == "__main__":
    sys.exit(0 if is_ready(load_settings({}, os.environ, serving=False)) else 1)
