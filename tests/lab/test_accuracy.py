from dataclasses import replace

import pytest

from cachezoo.errors import CachezooError, TrainingError
from cachezoo.zoo.workload.metrics import Pooled
from lab.rcrnn.accuracy import classification, draw, table
from lab.rcrnn.added_fit import told
from lab.rcrnn.trained import MODEL, PAPER_MODEL
from tests.lab.figures_data import added, cells
from tests.lstm_data import CLASSES, FIT, make_stream, part, parts
from tests.metrics_data import workload_metrics

ID, PAPER = "workload.lstm50", "workload.paper"


def metrics(ours=0.85, twsd=0.55):
    """Of three categories; the made-up rival is TWSD here."""
    found = workload_metrics(ID)
    own = found.models[ID]
    assert isinstance(own.test, Pooled)
    rival = own.test.rivals[0].model_copy(update={"policy": "twsd", "balanced_accuracy": twsd})
    test = own.test.model_copy(update={"balanced_accuracy": ours, "rivals": [rival]})
    models = {ID: own.model_copy(update={"test": test})}
    return found.model_copy(update={"classes": ["a", "b", "c"], "models": models})


def published(accuracy=0.5):
    """The paper's classifier, which has the same made-up rival."""
    return metrics(accuracy).model_copy(update={"models": {PAPER: metrics(accuracy).models[ID]}})


def test_the_mean_of_the_sets_and_the_deployed_classifier_make_the_rows():
    nine, sixteen = classification(metrics(), published(), added({2: 1.0}, {2: 0.8}))
    rows = {(row.method, row.categories): row for row in sixteen.rows}
    assert rows[MODEL, 2].cases == 3 and rows[MODEL, 3].cases == 1
    assert (rows[MODEL, 3].accuracy, rows["twsd", 3].accuracy) == (0.85, 0.55)
    assert (rows[MODEL, 3].relative, rows["twsd", 3].relative) == (0.85, pytest.approx(0.6875))
    mixed = [row for row in nine.rows if row.categories is None]
    assert [(row.method, row.accuracy) for row in mixed] == [(MODEL, 0.9), ("tree4", 0.6)]
    assert (rows[PAPER_MODEL, 2].accuracy, rows[PAPER_MODEL, 3].accuracy) == (0.5, 0.5)
    assert nine.rows[: len(sixteen.rows)] == sixteen.rows


@pytest.mark.parametrize(
    ("metrics_of", "few", "nine", "sixteen"),
    [
        ((0.96, 0.5), (1.0, 0.9), ["holds"] * 4, ["holds"] * 3),
        ((0.85, 0.7), (0.95, 0.8), ["does not hold"] * 4, ["does not hold"] * 3),
    ],
)
def test_claims_follow_from_the_rows(metrics_of, few, nine, sixteen):
    found = classification(metrics(*metrics_of), published(), added({2: few[0]}, {2: few[1]}))
    assert [[one.verdict for one in figure.findings] for figure in found] == [nine, sixteen]
    assert [one.ours for one in found[0].published[:2]] == [0.5, 0.5] and found[1].published[0].ours == 0.0


def test_the_tables_show_accuracy_or_what_is_kept_of_it(tmp_path):
    found = classification(metrics(), published(), added({2: 1.0}, {2: 0.8}))
    lines = [cells(table(one))[1:] for one in found]
    assert lines[0] == [
        ["2 categories", "3", "100.0 %", "50.0 %", "80.0 %", "-"],
        ["3 categories", "1", "85.0 %", "50.0 %", "55.0 %", "-"],
        ["two at once, 60 % of one", "1", "90.0 %", "-", "-", "60.0 %"],
    ]
    assert lines[1] == [
        ["2 categories", "3", "100.0 %", "100.0 %", "100.0 %"], ["3 categories", "1", "85.0 %", "100.0 %", "68.7 %"],
    ]  # fmt: skip
    for one in found:
        draw(one, tmp_path / "a.png")
        draw(one, tmp_path / "b.png")
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_an_untrained_classifier_is_named():
    with pytest.raises(CachezooError, match=f"^{ID}: the classifier has no test figures"):
        classification(workload_metrics(ID, trained=False), published(), added({2: 1.0}, {2: 0.8}))


def test_a_set_is_trained_and_judged_on_its_own_categories_alone():
    strange = [part(make_stream(800, seed, "turns"), f"strange_{seed}") for seed in (31, 32, 33)]
    strange = [replace(one, category="other") for one in strange]
    settings = replace(FIT, categories=[*CLASSES, "other"])
    roles = [parts(2000, 1), parts(1000, 3), parts(1000, 5)]
    with_other = [[*role, one] for role, one in zip(roles, strange, strict=True)]
    paper = replace(settings, model=settings.model.model_copy(update={"inputs": ["size.log2_bytes", "request.op"]}))
    found = told(CLASSES, *with_other, settings, paper)
    assert found == told(CLASSES, *roles, settings, paper)
    assert [row.method for row in found] == [MODEL, PAPER_MODEL, "tree4", "twsd", "frequency", "iosize"]
    assert found[0].accuracy > 0.9 and found[0].windows == 2 * (1000 // 12)
    with pytest.raises(TrainingError, match="hold no whole window of requests"):
        told(CLASSES, *roles[:2], parts(8, 5), settings, paper)
    with pytest.raises(TrainingError, match="no test trace of pairs or turns"):
        told(CLASSES, *roles[:2], strange, settings, paper)
