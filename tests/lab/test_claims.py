"""The papers' claims as files: what they say of the stored results is what was stored, and what cannot be is named."""

from pathlib import Path

import pytest
import yaml

from cachezoo.errors import CachezooError
from cachezoo.io import read_json
from lab.baleen import document as baleen
from lab.claims import evaluate as module
from lab.claims.evaluate import Claim, evaluate, grouped, judged, less, over, read_claims
from lab.fios import document as fios
from lab.hca import document as hca
from lab.rcrnn import caches
from lab.rcrnn.figures import FIGURES
from lab.rcrnn.files import PAPER
from lab.rcrnn.trained import PAPER_MODEL
from lab.virtual import document as virtual

ROOT = Path(__file__).resolve().parents[2]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
PAPERS = ("baleen", "fios", "hca", "rcrnn", "virtual")
PLAIN = "claims: {one: [{id: a, sentence: s, measured: m, value: VALUE, bound: 1}]}"


@pytest.mark.parametrize(
    ("document", "figure_of"),
    [
        (baleen, lambda one: baleen.figure_of(one.cases, one.modes, one.seeds)),
        (fios, lambda one: fios.figure_of(one.cases, one.least_waf, one.over_provisioning)),
        (hca, lambda one: hca.figure_of(one.long_runs, one.sized_runs, one.points, one.disk_iops)),
        (
            virtual,
            lambda one: virtual.figure_of(
                one.loop, one.heats, one.points, one.parts, one.profiles, one.mixed, one.swept, one.disk
            ),
        ),
    ],
)
def test_a_file_gives_the_stored_verdicts(document, figure_of):
    read = {baleen: "read_baleen", fios: "read_fios", hca: "read_hca", virtual: "read_virtual"}[document]
    found = getattr(document, read)(ROOT / document.FILE)
    assert found.findings and figure_of(found) == found


@pytest.mark.parametrize("listed", FIGURES, ids=lambda one: one.id)
def test_rc_rnn_s_file_gives_the_stored_verdicts(listed):
    shape = tuple(PARAMS["model"]["caching"][name] for name in ("layers", "units"))
    size = {"own_size": PARAMS["evaluate"]["capacity_fraction"]}
    more = {**size, "untrained": "", "shape": shape}
    paper = {"untrained": "", "shape": (3, 256), "ours": caches.PAPER, "free": caches.FREE[caches.PAPER]}
    columns = {
        "table5": (size, {"network": PAPER}),
        "fig7": ({"classifier": f"workload.{PARAMS['model']['workload']['arch']}"}, {"classifier": "workload.paper"}),
        "fig8": ({}, {"network": PAPER}),
        **dict.fromkeys(("fig9", "fig16"), ({}, {"lstm": PAPER_MODEL})),
        **dict.fromkeys(caches.FIGURES, (more, paper)),
    }
    stored = read_json(ROOT / listed.file)
    figure = listed.type.model_validate(stored)
    ours, published = columns[listed.id]
    again = judged(figure, "rcrnn", listed.id, published, **ours).model_dump(mode="json")
    found, kept = ([*one["findings"], *one["published"]] for one in (again, stored))
    for one, other in zip(found, kept, strict=True):
        for name, value in other.items():
            assert one[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_s_claims_have_ids_of_their_own(paper):
    def ids(items):
        return [one for item in items for one in ([item.id] if isinstance(item, Claim) else ids(item.claims))]

    for section in read_claims(paper).claims.values():
        own = ids(section)
        assert own and len(set(own)) == len(own)


def claims(tmp_path, monkeypatch, text):
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    (tmp_path / "own.yaml").write_text(f"paper: Own\n{text}", encoding="utf-8")


def test_a_group_repeats_its_claims_and_shares_what_they_do_not_say(tmp_path, monkeypatch):
    text = """
names: {size: 2}
where: {twice: "lambda one: 2 * one"}
claims:
  first:
    - each: {a: [1, 2], b: [x]}
      head: "Head {a}{b}"
      unit: times
      own: "3"
      where: {half: a / 2}
      claims:
        - {id: one, sentence: "{half:.1f}", measured: "of {found}", value: twice(size) * a, bound: "4 * a"}
        - {id: two, head: Other, unit: MB, sentence: s, measured: m, value: half, bound: 1, at_most: true, own: ""}
  second:
    - {id: three, sentence: s, measured: m, value: "None", bound: 1}
"""
    claims(tmp_path, monkeypatch, text)
    found = evaluate("own", {"found": 7})
    assert [one.claim for one in found] == ["Head 1x: 0.5", "Other: s", "Head 2x: 1.0", "Other: s", "s"]
    assert [one.unit for one in found] == ["times", "MB", "times", "MB", "share"]
    assert [(one.ours, one.own_size, one.bound) for one in found[:3]] == [(4, 6, 4), (0.5, None, 1), (8, 12, 8)]
    assert [one.verdict for one in found] == ["holds"] * 4 + ["not comparable"]
    assert found[0].measured == "of 7" and evaluate("own", {"found": 7}, "second") == found[4:]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("found.none", "has no attribute 'none'"),
        ("nothing", "name 'nothing' is not defined"),
        ("open('x')", "name 'open' is not defined"),
        ("1 / 0", "division by zero"),
        ("1 +", "invalid syntax"),
    ],
)
def test_what_cannot_be_evaluated_is_named(value, said, tmp_path, monkeypatch):
    claims(tmp_path, monkeypatch, PLAIN.replace("VALUE", value))
    with pytest.raises(CachezooError, match=f"^lab/claims: own: a: .*{said}"):
        evaluate("own", {"found": None})


@pytest.mark.parametrize("text", ["claims: {}\nmore: 1", PLAIN.replace("value", "values"), "claims: 3"])
def test_a_file_that_is_no_file_of_claims_is_named(text, tmp_path, monkeypatch):
    claims(tmp_path, monkeypatch, text)
    with pytest.raises(CachezooError, match=r"own\.yaml: holds no claims"):
        evaluate("own", {})


def test_what_is_undefined_is_left_out_or_stays_undefined():
    assert (over(1, 2), over(1, 0), over(None, 1), less(3, 1), less(None, 1)) == (0.5, None, None, 2, None)
    tools = module.TOOLS
    assert tools["mean"]([None, 1, 3]) == 2 and tools["least"]([]) is tools["most"]([None]) is None
    assert grouped([(1, 3), (2, 0), (1, 2)], lambda row: row[0], lambda row: row[1]) == [[(2, 0)], [(1, 2), (1, 3)]]
