"""The messages about mistakes in settings."""

from pathlib import Path
from typing import Any

import pytest

from domogate.settings import BadSettings, load_settings


def mistakes(flags: dict[str, Any] | None = None, environ: dict[str, str] | None = None, file: Path | None = None) -> list[str]:
    with pytest.raises(BadSettings) as caught:
        load_settings(flags or {}, environ or {}, file)
    return str(caught.value).splitlines()
