import pytest

from cachezoo.errors import CachezooError
from lab.rcrnn.learning import Curve, draw, learning_curves, read_curve, table

LOSSES = [1.0, 0.5, 0.06, 0.04, 0.0, 0.3]


def curve(model, losses, network=0, validation=True, accuracy=None):
    return Curve(model=model, network=network, train=losses, validation=losses if validation else [], accuracy=accuracy)


PAPER = curve("workload.paper", [1.0, 0.5], accuracy=0.9)


def test_a_curve_is_settled_when_nearly_all_of_the_fall_is_done():
    one = curve("workload.x", LOSSES)
    assert (one.settled, one.best) == (4, 5)
    assert curve("workload.x", [0.3, 0.4]).settled == 1
    assert curve("workload.x", LOSSES, validation=False).settled == 4


@pytest.mark.parametrize(
    ("losses", "accuracy", "verdicts"),
    [
        (LOSSES, 0.96, ["holds", "holds"]),
        ([1 - 0.1 * k for k in range(11)], 0.9, ["does not hold", "does not hold"]),
        (LOSSES, None, ["holds", "not comparable"]),
    ],
)
def test_claims_follow_from_the_classifiers_curve(losses, accuracy, verdicts):
    curves = [curve("workload.x", losses, accuracy=accuracy), PAPER, curve("caching.web.y", [1.0, 0.9])]
    found = learning_curves(curves, "workload.x", "workload.paper")
    assert [one.verdict for one in found.findings] == verdicts
    assert [(one.ours, one.verdict) for one in found.published] == [(2, "holds"), (0.9, "does not hold")]


def test_a_curve_is_read_and_what_is_missing_is_named(tmp_path):
    with pytest.raises(CachezooError, match=r"curves\.csv: is missing; run `make repro`$"):
        read_curve(tmp_path, "m")
    (tmp_path / "curves.csv").write_text("epoch,train_loss,validation_loss\n1,0.5,\n2,0.25,\n")
    assert read_curve(tmp_path, "m", 3, 0.9) == Curve(
        model="m", network=3, train=[0.5, 0.25], validation=[], accuracy=0.9
    )
    (tmp_path / "curves.csv").write_text("epoch,error\n1,0.5\n")
    with pytest.raises(CachezooError, match=r"holds no train_loss; run `make repro`$"):
        read_curve(tmp_path, "m")


def test_a_model_has_a_line_and_the_plot_the_same_bytes_twice(tmp_path):
    ours = [curve("c.y", [1.0, 0.4]), curve("c.y", [1.0, 0.4, 0.2], 1)]
    found = learning_curves([curve("workload.x", LOSSES), PAPER, *ours, curve("c.paper", [1.0, 0.4])], "workload.x",
                            "workload.paper")  # fmt: skip
    assert [[cell.text for cell in row[:5]] for row in table(found).rows] == [
        ["workload.x", "1", "6", "4.0", "5.0"], ["workload.paper", "1", "2", "2.0", "2.0"],
        ["c.y", "2", "2", "2.5", "2.5"], ["c.paper", "1", "2", "2.0", "2.0"],
    ]  # fmt: skip
    draw(found, tmp_path / "a.png")
    draw(found, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
