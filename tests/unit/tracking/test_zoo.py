"""Seats, champions, and the way back."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cachezoo.bundles import load
from cachezoo.bundles.release import release, sign_release
from cachezoo.errors import BundleError, ConfigError
from cachezoo.questions.challenger import Contest
from cachezoo.tracking import zoo
from cachezoo.tracking.seats import FILE, read_zoo
from cachezoo.tracking.zoo import archive, promote, rollback
from tests.bundle_data import reseal
from tests.command_line import run
from tests.signed import public_pem, signing

ROOT = Path(__file__).resolve().parents[3]
STORED = Path(__file__).parents[2] / "golden/protocol2/reuse.follow"
SEAT = "page/all"
PARAMS = SimpleNamespace(data=SimpleNamespace(page_categories=["mail", "web"]))


def judged(folder, good, reason="by its judge"):
    """A copy of the stored bundle that its judge promoted, or did not."""
    shutil.copytree(STORED, folder)

    def change(manifest):
        manifest["measured"] |= {"beats_baseline": good, "reason": reason}
        manifest["policy"]["decide"] += f"; {folder.name}"  # of each its own digest of what acts

    reseal(folder, change)
    return folder


def contest_of(lead):
    return lambda params, ours, theirs: Contest("page", "hits", ("t",), lead, (lead - 0.01, lead + 0.01), 3.0)


def champion(root):
    return read_zoo(root).seats[SEAT].champion


def test_an_empty_seat_is_taken_by_what_its_judge_promoted(tmp_path):
    good, why, found = promote(tmp_path, PARAMS, judged(tmp_path / "weak", False))
    assert (good, why) == (False, "by its judge")
    assert found.seats[SEAT].champion is None and found.seats[SEAT].challenger.id == "reuse.follow"
    strong = judged(tmp_path / "strong", True, "ahead")
    good, _, found = promote(tmp_path, PARAMS, strong)
    assert good and champion(tmp_path).why == "ahead"
    assert found.sets == {name: {"page": "reuse.follow", "flash": None} for name in ("mail", "web")}
    assert load(archive(tmp_path, champion(tmp_path).model_digest)).digest == load(strong).digest


@pytest.fixture
def key(tmp_path, monkeypatch):
    """A private key, whose public one is set."""
    secret = tmp_path / "key.pem"
    secret.write_bytes(signing().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "key.pub").write_bytes(public_pem())
    monkeypatch.setenv("CACHEZOO_KEY", str(tmp_path / "key.pub"))
    return secret


def released(folder, key, bundle, number):
    """A bundle's archive in a release of its own."""
    found = release([bundle], folder)
    sign_release(found, folder, key, number)
    return found[0].archive


def test_where_a_key_is_set_none_but_a_released_bundle_gets_a_seat_or_has_it_again(tmp_path, monkeypatch, key):
    unsigned = judged(tmp_path / "unsigned", True)
    with pytest.raises(BundleError, match="asks for a signed release"):
        promote(tmp_path, PARAMS, unsigned)
    assert not (tmp_path / FILE).exists() and not list((tmp_path / zoo.STORE).glob("*"))
    first, second = (
        released(tmp_path / name, key, judged(tmp_path / f"own-{name}", True, name), number)
        for number, name in ((3, "first"), (4, "second"))
    )
    monkeypatch.setattr(zoo, "contest", contest_of(0.05))
    assert promote(tmp_path, PARAMS, first)[0] and promote(tmp_path, PARAMS, second)[0]
    rollback(tmp_path, PARAMS, SEAT)
    assert promote(tmp_path, PARAMS, second)[0]
    (tmp_path / "key.pub.floor").write_text("4\n")
    with pytest.raises(BundleError, match=r"is release 3, and .*accepts 4 or later"):
        rollback(tmp_path, PARAMS, SEAT)
    assert champion(tmp_path).model_digest == load(second).model_digest


def test_a_challenger_must_gain_and_the_champion_before_can_come_back(tmp_path, monkeypatch):
    first, second, third = (judged(tmp_path / name, True, name) for name in ("first", "second", "third"))
    promote(tmp_path, PARAMS, first)
    monkeypatch.setattr(zoo, "contest", contest_of(0.005))
    good, why, _ = promote(tmp_path, PARAMS, second)
    assert not good and "not shown to gain more than 0" in why
    assert champion(tmp_path).model_digest == load(first).model_digest
    monkeypatch.setattr(zoo, "contest", contest_of(0.05))
    assert not promote(tmp_path, PARAMS, second, least_gain=0.1)[0]
    assert not promote(tmp_path, PARAMS, second, budget_us=2.0)[0]
    assert promote(tmp_path, PARAMS, second)[0] and promote(tmp_path, PARAMS, third)[0]
    assert champion(tmp_path).lead == 0.05 and len(read_zoo(tmp_path).seats[SEAT].previous) == 2
    for expected in (second, first):
        rollback(tmp_path, PARAMS, SEAT)
        assert champion(tmp_path).model_digest == load(expected).model_digest
    with pytest.raises(ConfigError, match="page/all has no champion before"):
        rollback(tmp_path, PARAMS, SEAT)


LSTM = STORED.parent / "caching.database.lstm1x8"


def lstm(folder, good):
    """A copy of the stored caching bundle that its judge promoted, or did not."""
    shutil.copytree(LSTM, folder)
    reseal(folder, lambda manifest: manifest["measured"].update(beats_baseline=good, reason="by its judge"))
    return folder


def test_a_category_s_own_model_takes_a_seat_from_that_of_all_and_gives_it_back(tmp_path, monkeypatch):
    params = SimpleNamespace(data=SimpleNamespace(page_categories=["database", "web"]))
    everywhere, weak, own = judged(tmp_path / "all", True), lstm(tmp_path / "weak", False), lstm(tmp_path / "own", True)
    promote(tmp_path, params, everywhere)
    seen = []

    def contest(lead):
        return lambda _, ours, theirs: seen.append((ours.id, theirs.id)) or contest_of(lead)(_, ours, theirs)

    monkeypatch.setattr(zoo, "contest", contest(0.05))
    good, why, found = promote(tmp_path, params, weak)
    assert (good, why, seen) == (False, "by its judge", []) and found.seats["page/database"].champion is None
    monkeypatch.setattr(zoo, "contest", contest(0.005))
    good, why, found = promote(tmp_path, params, own)
    assert not good and "not shown to gain" in why and seen == [("caching.database.lstm1x8", "reuse.follow")]
    assert found.sets["database"]["page"] == "reuse.follow"
    monkeypatch.setattr(zoo, "contest", contest(0.05))
    good, _, found = promote(tmp_path, params, own)
    taken = found.seats["page/database"].champion
    assert good and taken.lead == 0.05 and taken.threshold == load(own).manifest["calibration"]["threshold"]
    assert {name: one["page"] for name, one in found.sets.items()} == {"database": taken.id, "web": "reuse.follow"}
    back = rollback(tmp_path, params, "page/database")
    assert back.seats["page/database"].champion is None and back.sets["database"]["page"] == "reuse.follow"
    assert back.seats["page/database"].challenger == taken
    with pytest.raises(ConfigError, match="page/database has no champion before"):
        rollback(tmp_path, params, "page/database")


def test_the_champion_does_not_challenge_itself(tmp_path, monkeypatch):
    path = judged(tmp_path / "one", True)
    promote(tmp_path, PARAMS, path)
    before = (tmp_path / FILE).read_bytes()
    monkeypatch.setattr(zoo, "contest", None)
    assert promote(tmp_path, PARAMS, path)[0] and (tmp_path / FILE).read_bytes() == before


def test_an_archive_that_is_gone_is_named(tmp_path, monkeypatch):
    first, second = (judged(tmp_path / name, True, name) for name in ("first", "second"))
    promote(tmp_path, PARAMS, first)
    archive(tmp_path, load(first).model_digest).unlink()
    with pytest.raises(BundleError, match=r"the archive of reuse\.follow .* is gone"):
        promote(tmp_path, PARAMS, second)
    assert champion(tmp_path).model_digest == load(first).model_digest


def test_in_a_clone_the_exported_bundle_stands_in_for_its_archive(tmp_path, monkeypatch):
    first, second = (judged(tmp_path / name, True, name) for name in ("first", "second"))
    promote(tmp_path, PARAMS, first)
    archive(tmp_path, load(first).model_digest).unlink()
    shutil.copytree(first, tmp_path / "models/bundles/reuse.follow")
    monkeypatch.setattr(zoo, "contest", contest_of(0.05))
    assert promote(tmp_path, PARAMS, second)[0]


def test_a_damaged_zoo_is_refused(tmp_path):
    (tmp_path / FILE).write_text(json.dumps({"seats": [], "sets": {}}))
    with pytest.raises(ConfigError, match="is no zoo"):
        read_zoo(tmp_path)


def test_the_command_lists_seats_and_every_bundle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("conf").mkdir()
    assert "make repro exports them" in " ".join(run("models", "zoo").stdout.split())
    shutil.copytree(STORED.with_name("workload.lstm8"), "models/bundles/workload.lstm8")
    promote(Path(), PARAMS, judged(Path("models/bundles/reuse.follow"), True))
    found = json.loads(run("models", "zoo", "--json").stdout)
    assert found["seats"][SEAT]["champion"]["model_digest"] == found["bundles"][0]["model_digest"]
    assert [(one["id"], one["seat"], one["standing"], one["promoted"]) for one in found["bundles"]] == [
        ("reuse.follow", SEAT, "champion", True),
        ("workload.lstm8", None, None, True),
    ]
    shown = run("models", "zoo").stdout
    assert all(name in shown for name in ("page/all", "workload.lstm8", "promoted", "headline"))


@pytest.mark.needs("git")
def test_a_fresh_clone_can_make_the_project_s_champions(tmp_path):
    """Their archives are not in Git: the digests are those of the bundles that docs/zoo.md was written from."""
    for name in ("zoo.json", "docs/zoo.md"):  # as they were committed, whoever promotes what in this clone
        show = subprocess.run(["git", "show", f"HEAD:{name}"], cwd=ROOT, capture_output=True, check=True, timeout=60)
        (tmp_path / Path(name).name).write_bytes(show.stdout)
    champions = [seat.champion for seat in read_zoo(tmp_path).seats.values() if seat.champion]
    rows = [line for line in (tmp_path / "zoo.md").read_text().splitlines() if line.startswith("| `")]
    assert champions
    for one in champions:
        assert any(f"`{one.id}`" in row and f"`{one.model_digest[:16]}`" in row for row in rows), one.id
