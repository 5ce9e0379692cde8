"""The bill of materials (SBOM) of the gateway: CycloneDX 1.6 in JSON."""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from release.dependencies import Graph
from release.licences import Part

_NAMESPACE = uuid.UUID("5c4f7c1e-8f0b-4d0e-9a39-5d8f2c2b7f1a")


def write_bill(version: str, when: datetime, parts: Sequence[Part], needs: Graph, direct: Iterable[str]) -> bytes:
    """Return the document. `direct` names the Python packages that the gateway declares itself.

    The document has no random number and no current time, so that two builds of one commit have the same document.
    """
    references = {(one.ecosystem, one.name): _package_url(one) for one in parts}
    own = f"pkg:pypi/domogate@{version}"
    pages = [reference for (ecosystem, _), reference in references.items() if ecosystem == "npm"]
    tree = {own: sorted([*(references["pypi", name] for name in direct), *pages])}
    for (ecosystem, name), reference in references.items():
        needed = needs.get(name, set()) if ecosystem == "pypi" else set()
        tree[reference] = sorted(references["pypi", one] for one in needed)
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "domogate",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": own,
            },
        },
        "components": [_describe(one, references[one.ecosystem, one.name]) for one in parts],
        "dependencies": [{"ref": reference, "dependsOn": needed} for reference, needed in tree.items()],
    }
    content = msgspec.json.encode(document).decode()
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, content)}"
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _describe(part: Part, reference: str) -> dict[str, Any]:
    is_expression = " " in part.licence
    licence = {"expression": part.licence} if is_expression else {"license": {"id": part.licence}}
    return {
        "type": "library",
        "bom-ref": reference,
        "name": part.name,
        "version": part.version,
        "hashes": [{"alg": part.algorithm, "content": one} for one in part.hashes],
        "licenses": [licence],
        "purl": reference,
    }


def _package_url(part: Part) -> str:
    """Return the package URL (purl) of a package."""
    return f"pkg:{part.ecosystem}/{quote(part.name)}@{quote(part.version)}"
