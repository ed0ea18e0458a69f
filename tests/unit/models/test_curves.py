import pytest

from cachezoo.errors import CachezooError
from cachezoo.models.curves import CURVES_FILE, copy_curves, read_curves, write_curves

HEADER = ("epoch", "train_loss", "validation_loss")


@pytest.fixture
def folders(tmp_path):
    fitted, judged = tmp_path / "fitted", tmp_path / "judged"
    fitted.mkdir()
    judged.mkdir()
    return fitted, judged


@pytest.mark.parametrize("rows", [[], [(1, 0.5, 0.6), (2, 0.4, None)]])
def test_a_judge_passes_the_fit_s_curves_on(folders, rows):
    fitted, judged = folders
    write_curves(fitted, HEADER, rows)
    copy_curves(fitted, judged)
    assert (judged / CURVES_FILE).read_bytes() == (fitted / CURVES_FILE).read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short"),
        (b"epoch,train_loss\n1,0.5\n2,0.4", "cut short"),
        (b"epoch,train_loss\n1,0.5\n2\n", "another length"),
        (b"colour,size\nred,-1\n", "no number"),
        (b"\xff\xfe\n", "not readable as CSV"),
    ],
)
def test_curves_that_are_damaged_are_named_and_not_passed_on(folders, content, message):
    fitted, judged = folders
    (fitted / CURVES_FILE).write_bytes(content)
    for use in (lambda: copy_curves(fitted, judged), lambda: read_curves(fitted / CURVES_FILE)):
        with pytest.raises(CachezooError, match=rf"fitted/curves\.csv: .*{message}.*train the model again"):
            use()
    assert not list(judged.iterdir())


def test_missing_curves_are_named(folders):
    with pytest.raises(OSError, match=r"fitted/curves\.csv"):
        copy_curves(*folders)
