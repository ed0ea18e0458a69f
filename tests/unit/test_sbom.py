"""The locks, what is installed, its licences and its bill of materials."""

from importlib import metadata
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from cachezoo.io import dump_json
from scripts import sbom
from scripts.locks import DEV, HEADS, INSTALLER, RUN, TORCH, TORCH_INDEX, Pin, pins

pytestmark = pytest.mark.slow  # the first licence loads every one that SPDX knows
ROOT = Path(__file__).resolve().parents[2]
X = Pin("x", "1", ())


@pytest.fixture(autouse=True)
def in_the_clone(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("lock", [RUN, DEV])
def test_a_lock_holds_pins_with_hashes_and_nothing_else(lock):
    found = pins(lock)
    assert lock.read_text() == HEADS[lock] + "".join(pin.lines() for pin in found)
    assert [pin.name for pin in found if not pin.hashes] == []
    assert [pin.name for pin in found] == sorted({pin.name for pin in found})


def test_no_package_is_in_both_locks():
    assert {pin.name for pin in pins(RUN)} & {pin.name for pin in pins(DEV)} == set()


def test_what_is_installed_has_the_versions_of_the_locks():
    every = {pin.name: pin.version for lock in (RUN, DEV) for pin in pins(lock)}
    assert {name: metadata.version(name).partition("+")[0] for name in every} == every


@pytest.mark.parametrize(("extras", "locks"), [(["pipeline"], [RUN]), (["pipeline", "dev"], [RUN, DEV])])
def test_the_locks_hold_all_that_the_project_needs_and_no_more(extras, locks):
    needed = sbom.needs(sbom.requirements(*extras)).keys() - {"", INSTALLER}
    assert needed == {pin.name for lock in locks for pin in pins(lock)}


def test_the_page_of_licences_is_of_the_locks():
    page = sbom.PAGE.read_text()
    assert page == sbom.page(), "run .venv/bin/python -m scripts.sbom --licences"


def test_nothing_that_the_pipeline_runs_with_is_under_a_gpl_but_for_exceptions():
    assert {pin.name for pin in pins(RUN) if sbom.is_gpl(sbom.licence(pin))} == set(sbom.EXCEPTIONS)


def test_what_was_read_in_the_licences_is_of_packages_that_are_pinned():
    assert sbom.STATED.keys() <= {f"{pin.name}=={pin.version}" for lock in (RUN, DEV) for pin in pins(lock)}


@pytest.mark.parametrize(
    ("text", "gpl"),
    [
        ("MIT", False),
        ("Apache Software License", False),
        ("GPL-2.0-only", True),
        ("AGPL-3.0-or-later", True),
        ("LGPL-2.1-or-later", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("GPLv2 with linking exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", True),
        ("Apache-2.0 OR GPL-2.0-or-later", False),
        ("MIT AND GPL-3.0-only", True),
        ("GPL-3.0-only AND (MIT OR Apache-2.0)", True),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", False),
        ("GPL-3.0-only OR AGPL-3.0-only", True),
    ],
)
def test_a_gpl_is_one_that_leaves_no_choice(text, gpl):
    assert sbom.is_gpl(text) is gpl


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs the package x with some lines of metadata."""

    def install(lines):
        (tmp_path / "x-1.dist-info").mkdir()
        text = "\n".join(["Metadata-Version: 2.4", "Name: x", "Version: 1", *lines, "", ""])
        (tmp_path / "x-1.dist-info/METADATA").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)

    return install


@pytest.mark.parametrize(
    ("lines", "licence"),
    [
        (["License-Expression: MIT", "License: BSD", "Classifier: License :: OSI Approved :: ISC"], "MIT"),
        (["License: EPL-2.0 OR MIT", "Classifier: License :: OSI Approved"], "EPL-2.0 OR MIT"),
        (["License: BSD", "Classifier: License :: OSI Approved :: BSD License"], "BSD License"),
        (["Classifier: License :: OSI Approved :: A", "Classifier: License :: OSI Approved :: B"], "A, B"),
        (["License: BSD"], "BSD"),
    ],
)
def test_a_licence_is_the_most_exact_that_a_package_states(package, lines, licence):
    package(lines)
    assert sbom.licence(X) == licence


@pytest.mark.parametrize("lines", [[], ["Classifier: License :: OSI Approved"], ["License: Copyright\n        by me"]])
def test_a_package_that_states_no_licence_is_named(package, lines):
    package(lines)
    with pytest.raises(LookupError, match="x: says nothing of its licence"):
        sbom.licence(X)


def test_the_bill_is_of_the_lock_alone_and_valid():
    bill = sbom.bill()
    assert dump_json(bill) == dump_json(sbom.bill())
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(dump_json(bill)) is None
    assert "timestamp" not in bill["metadata"]
    found = {part["name"]: part for part in bill["components"]}
    assert list(found) == [pin.name for pin in pins(RUN)]
    for pin in pins(RUN):
        part = found[pin.name]
        files = part["externalReferences"][0]
        assert part["version"] == pin.version and part["licenses"]
        assert sorted(entry["content"] for entry in files["hashes"]) == list(pin.hashes)
        assert files["url"].startswith(TORCH_INDEX) == (pin.name == TORCH)
    needed = {part["ref"]: part.get("dependsOn", []) for part in bill["dependencies"]}
    assert found["numpy"]["bom-ref"] in needed["cachezoo"]
    assert found["sympy"]["bom-ref"] in needed[found["torch"]["bom-ref"]]
