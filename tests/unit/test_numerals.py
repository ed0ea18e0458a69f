"""What counts as a number: in options of every command, in options of formats, and in what traces hold."""

import pytest
import typer.main
from typer.core import TyperArgument, TyperOption

from cachezoo import cli
from cachezoo.errors import ConfigError
from cachezoo.numerals import number, whole
from cachezoo.policies import spec
from cachezoo.questions.share import partitioners
from cachezoo.questions.tiers import hierarchy
from tests.command_line import run

OTHER_DIGITS = ("\u0661\u0662", "\uff11", "\u00b2")
NO_NUMBERS = (*OTHER_DIGITS, "1_000", " 5", "5 ", "", "0x10", "1,000", "--5", "5e", ".", "9" * 5000)
NOT_FINITE = ("nan", "inf", "-Infinity", "1e999")


@pytest.mark.parametrize("text", [*NO_NUMBERS, *NOT_FINITE])
def test_what_is_no_number_is_none(text):
    assert number(text) is None
    assert whole(text) is None


NUMBERS = {"5": 5, "-5": -5, "+5": 5, "0.5": 0.5, ".5": 0.5, "1e-3": 0.001}


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_a_number_is_itself(text, value):
    assert number(text) == value
    assert whole(text) == (value if isinstance(value, int) else None)


def leaves(command, ctx):
    for name in getattr(command, "commands", ()):
        child = command.get_command(ctx, name)
        inner = typer.Context(child, parent=ctx, info_name=name)
        yield from leaves(child, inner) if hasattr(child, "commands") else [(child, inner)]


def numeric():
    """Every option and argument of every command that takes numbers, by its name."""
    top = typer.main.get_command(cli.app)
    for command, ctx in leaves(top, typer.Context(top, info_name="cachezoo")):
        for parameter in command.params:
            if isinstance(parameter, TyperOption | TyperArgument) and any(
                kind in repr(parameter.type_descriptor.annotation) for kind in ("int", "float")
            ):
                yield f"{ctx.command_path} {parameter.name}", parameter, ctx


def test_every_option_that_takes_numbers_refuses_other_digits():
    found = list(numeric())
    assert len(found) > 40
    for name, parameter, ctx in found:
        for text in ("1_0", "\u0661\u0660", " 10"):
            value = (text,) * max(parameter.nargs, 1) if parameter.nargs != 1 or parameter.multiple else text
            with pytest.raises(typer.BadParameter, match=r"is no (whole )?number"):
                parameter.process_value(ctx, value)
            assert name


TYPED = (
    ("trace", "synth", "t.csv", "-o", "x.parquet", "--seed", "1_0"),
    ("curve", "t.csv", "--sample", "0.0_1"),
    ("recommend", "t.csv", "--target-hit", "\u0668\u0660%"),
    ("recommend", "--only", "ram-ssd", "t.csv", "--spend", "\u0665\u0660"),
    ("recommend", "--only", "flash", "t.csv", "--count", "\u0661\u0660"),
    ("trace", "merge", "t.csv", "t.csv", "-o", "x.parquet", "--turn", "t=1_0"),
    ("trace", "info", "t.mqsim", "--format", "mqsim", "--option", "unit_bytes=5_12"),
)


@pytest.mark.parametrize("words", TYPED, ids=lambda words: "-".join(words[:3]))
def test_a_text_with_a_number_refuses_other_digits(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * k},4096\n" for k in range(99)))
    (tmp_path / "t.mqsim").write_text("".join(f"{k * 3000000} 0 {8 * k} 8 1\n" for k in range(99)))
    done = run(*words, ok=False)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("text", ["0_1", "\u0661", "1_0.5", "nan", "inf"])
@pytest.mark.parametrize(
    "read",
    [
        lambda text: spec.parse(f"s3fifo(small={text})"),
        lambda text: hierarchy.parse_hierarchy(f"l2arc(feed={text})"),
        lambda text: partitioners.parse(f"gvpa(cost={text})"),
    ],
    ids=["policy", "hierarchy", "partitioner"],
)
def test_a_policy_a_hierarchy_and_a_partitioner_refuse_other_digits(read, text):
    with pytest.raises(ConfigError, match="is no number"):
        read(text)


@pytest.mark.parametrize("digits", ["1_000", "\u0661\u0660"])
@pytest.mark.parametrize("column", range(4))
def test_a_trace_with_other_digits_is_refused(tmp_path, column, digits):
    row = ["0", "R", "4096", "4096"]
    row[column] = digits
    path = tmp_path / "t.csv"
    path.write_text("time_us,op,offset,size\n0,R,0,4096\n" + ",".join(row) + "\n")
    done = run("trace", "info", path, "--format", "csv", ok=False)
    assert "t.csv: row 2: " in done.stderr
