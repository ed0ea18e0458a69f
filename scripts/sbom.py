"""What is installed: a bill of materials (CycloneDX), and docs/licences.md with the licence of every package.

    sbom.py FILE          write the bill of materials of requirements.lock, as JSON
    sbom.py --licences    write docs/licences.md anew

Versions and hashes are the lock's. Licences and what needs what are what the installed packages say of themselves. So
one lock has one bill, byte for byte: it names no time and no machine.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.spdx import is_expression
from license_expression import AND, OR, get_spdx_licensing
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cachezoo.io import atomic_file, write_json
from scripts.locks import DEV, MACHINES, RUN, TORCH, TORCH_INDEX, Pin, pins

PAGE = Path("docs/licences.md")
INDEX = "https://pypi.org/simple"
GPL = re.compile(r"\b[AL]?GPL|GNU", re.IGNORECASE)
# Where a package's metadata says nothing of its licence, or the wrong thing: what the licence says that comes with it.
# Another version may have another, so that it is to be read again.
STATED = {
    "atheris==3.0.0": "Apache-2.0",
    "grandalf==0.8": "GPL-2.0-only OR EPL-1.0",  # the classifier names the first alone
    "huey==3.5.4": "MIT",
    "skops==0.16.0": "MIT",
}
# Packages under a GPL, and why they may be run with.
EXCEPTIONS = {
    "pygit2": "its linking exception lets programs of any licence use it; DVC does",
}
HEAD = """\
# Licences of what is installed

Written by `.venv/bin/python -m scripts.sbom --licences` from the locks and from what each package says of itself; a
test compares. None of these packages is part of cachezoo or of a bundle: they are installed next to it. What the
pipeline runs with is under no GPL, but for what the last column excuses. With a choice of licences (`OR`) ours is the
one that is no GPL.
"""
# Of what depends on the machine, a bill states the first one's.
HERE = {"platform_machine": MACHINES[0], "python_full_version": "3.11.0"}
Edges = dict[str, set[str]]


def licence(pin: Pin) -> str:
    """The licence of a package: an SPDX expression where the package states one, else the name it uses.

    Raises:
        LookupError: the package says nothing of it.
    """
    if stated := STATED.get(f"{pin.name}=={pin.version}"):
        return stated
    said = metadata.metadata(pin.name)
    text = (said.get("License") or "").strip()
    if expression := said.get("License-Expression"):
        return expression
    if text and is_expression(text):
        return text
    kinds = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier", []) if line.startswith("License ::")]
    if kinds := [kind for kind in kinds if kind != "OSI Approved"]:
        return ", ".join(kinds)
    if text and "\n" not in text:
        return text
    message = f"{pin.name}: says nothing of its licence; read what it comes with, and add it to STATED in {__file__}"
    raise LookupError(message)


def is_gpl(text: str) -> bool:
    """Whether a licence is a GPL, with no other to choose."""
    if not is_expression(text):
        return bool(GPL.search(text))

    def only_gpl(node: object) -> bool:
        if isinstance(node, OR):
            return all(map(only_gpl, node.args))
        if isinstance(node, AND):
            return any(map(only_gpl, node.args))
        return bool(GPL.search(str(node)))

    return only_gpl(get_spdx_licensing().parse(text))


def needs(root: Iterable[str]) -> Edges:
    """What is needed by what, by name, from some requirements on; their own needs are under the name "".

    Args:
        root: requirements such as `ruamel.yaml[oldlibyaml]`.
    """
    edges: Edges = {"": set()}
    todo, seen = [("", Requirement(text)) for text in root], set()
    while todo:
        who, what = todo.pop()
        name = canonicalize_name(what.name)
        edges[who].add(name)
        edges.setdefault(name, set())
        for extra in {"", *what.extras} - {extra for seen_name, extra in seen if seen_name == name}:
            seen.add((name, extra))
            for text in metadata.requires(name) or []:
                need = Requirement(text)
                if need.marker is None or need.marker.evaluate({**HERE, "extra": extra}):
                    todo.append((name, need))
    return edges


def project() -> dict:
    """The project's table of pyproject.toml."""
    return tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(*extras: str) -> list[str]:
    """What the project requires, with some of its extras."""
    own = project()
    return [*own["dependencies"], *(text for extra in extras for text in own["optional-dependencies"][extra])]


def _component(pin: Pin) -> Component:
    """A package with its licence, and the hashes of the files that its index may serve."""
    purl = PackageURL("pypi", name=pin.name, version=pin.version)
    files = f"{TORCH_INDEX if pin.name == TORCH else INDEX}/{pin.name}/"
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in pin.hashes]
    source = ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(files), hashes=hashes)
    return Component(
        type=ComponentType.LIBRARY, name=pin.name, version=pin.version, purl=purl, bom_ref=str(purl),
        licenses=[LicenseFactory().make_from_string(licence(pin))], external_references=[source],
    )  # fmt: skip


def bill() -> dict:
    """The bill of materials of what the pipeline runs with."""
    own = project()
    components = {pin.name: _component(pin) for pin in pins(RUN)}
    root = Component(
        type=ComponentType.APPLICATION, name=own["name"], version=own["version"], bom_ref=own["name"],
        licenses=[LicenseFactory().make_from_string(own["license"])],
    )  # fmt: skip
    digest = hashlib.sha256(RUN.read_bytes()).hexdigest()
    bom = Bom(components=components.values(), serial_number=uuid5(NAMESPACE_URL, f"{own['name']} {digest}"))
    bom.metadata.component = root
    for who, what in needs(requirements("pipeline")).items():
        bom.register_dependency(components[who] if who else root, [components[name] for name in sorted(what)])
    said = json.loads(JsonV1Dot6(bom).output_as_string())
    del said["metadata"]["timestamp"]
    return said


def _table(chosen: Iterable[Pin]) -> str:
    lines = ["| package | version | licence | |\n|---|---|---|---|\n"]
    for pin in chosen:
        lines.append(f"| {pin.name} | {pin.version} | {licence(pin)} | {EXCEPTIONS.get(pin.name, '')} |\n")
    return "".join(lines)


def page() -> str:
    """docs/licences.md."""
    run, dev = pins(RUN), pins(DEV)
    return (
        f"{HEAD}\n## What the pipeline runs with: {len(run)} packages\n\n{_table(run)}"
        f"\n## What tests and peers need beyond it: {len(dev)} packages\n\n{_table(dev)}"
    )


def main(words: list[str]) -> None:
    """`sbom.py FILE` or `sbom.py --licences`."""
    if words == ["--licences"]:
        with atomic_file(PAGE) as temporary:
            temporary.write_text(page(), encoding="utf-8")
    else:
        write_json(Path(words[0]), bill())


if __name__ == "__main__":
    main(sys.argv[1:])
