"""`domogate support-bundle`: writes a file for people who help with a problem."""

import gc
import zipfile
from pathlib import Path
from typing import Annotated

from domogate.app.doctor import examine
from domogate.app.support_bundle import collect
from domogate.cli._command import Mistake, command, top_level
from domogate.cli._files import Force, check_folder, check_free, open_output
from domogate.cli._options import argument, option
from domogate.cli._output import note
from domogate.settings import Settings
from domogate.settings.declared import list_flags

commands = top_level()


@command(commands, "support-bundle", flags=list_flags())
async def support_bundle(
    settings: Settings,
    file: Annotated[Path, argument("FILE", "ZIP file to write.")],
    log: Annotated[
        Path | None, option("FILE", "File with lines of the gateway's log. Secrets and addresses are masked.")
    ] = None,
    force: Force = False,
) -> None:
    """Write versions, settings, counts and results of `domogate doctor` to a ZIP file, without secrets.

    Run it with the settings of the gateway (--config FILE). The gateway may be running. Look at the file before you send it.
    """
    gc.enable()
    check_free(file, force)
    check_folder(file)
    if log is not None and not log.is_file():
        raise Mistake(f"there is no file {log}.")
    findings = [finding async for finding in examine(settings)]
    content = await collect(settings, findings, log)
    with open_output(file) as output, zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in content.items():
            bundle.writestr(f"domogate-support/{name}", text)
    note(f"Wrote {file} with {', '.join(content)}.")
    problems = sum(one.outcome == "problem" for one in findings)
    note(f"The doctor found {problems} problems. Look at the files before you send them.")
