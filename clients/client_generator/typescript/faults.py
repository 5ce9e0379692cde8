"""Writes the error classes of the TypeScript client: one for each fault of the gateway."""

from client_generator.faults import about_fault, find_faults, groups_by_code
from client_generator.typescript.types import HEADER, comment


def write_faults() -> str:
    """Return the text of `faults.ts`. Fails for a fault that is in no group."""
    group_of, found = groups_by_code(), find_faults()
    needed = sorted({group_of[kind.code] for kind in found})
    blocks = [
        HEADER.format(title="An error class for each fault of the gateway (docs/errors.md)."),
        f'import {{ {", ".join([*needed, "type Refused"])} }} from "./errors.js";',
    ]
    for kind in found:
        name, group = kind.__name__, group_of[kind.code]
        if name == group:
            blocks.append(f"export {{ {name} }};")
            continue
        code = f"  static override readonly code: number = {kind.code};"
        blocks.append(f"{comment(about_fault(kind))}\nexport class {name} extends {group} {{\n{code}\n}}")
    table = "\n".join(f"  {kind.code}: {kind.__name__}," for kind in found)
    blocks.append(f"export const BY_CODE: Readonly<Record<number, typeof Refused>> = {{\n{table}\n}};")
    return "\n\n".join(blocks) + "\n"
