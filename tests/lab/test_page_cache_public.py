"""The page cache on public traces: which are judged, and what is written."""

from types import SimpleNamespace

import pytest

from cachezoo.zoo.reuse.metrics import ReuseMetrics, read_metrics
from lab.notes import page_cache_public as public
from tests.metrics_data import reuse_row
from tests.report_data import trained

MODEL = "reuse.follow"
SIZES = [0.05, 0.1]
LEADS = {"first": 0.031, "second": -0.012}


@pytest.fixture
def rows(monkeypatch, tmp_path):
    """Two traces, a model that is judged at once, and which rows were made of it."""
    made = []

    def row(part, fraction):
        made.append((part.key, fraction, len(part.pages.page_ids)))
        own = reuse_row(MODEL, fraction, LEADS[part.key])
        return own.model_copy(update={"hit_ratios": {**own.hit_ratios, "lrb": 0.3, "threelcache": 0.2}})

    bench = SimpleNamespace(model=trained(MODEL), fraction=0.1, row=row)
    settings = SimpleNamespace(capacities=SIZES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(public.VARIABLE, str(tmp_path))
    monkeypatch.setattr(public, "SOURCES", {name: public.Source(f"{name}.lis") for name in LEADS})
    monkeypatch.setattr(public, "load_params", lambda: None)
    monkeypatch.setattr(public.evaluate, "Settings", SimpleNamespace(of=lambda params: settings))
    monkeypatch.setattr(public.evaluate, "_bench", lambda settings: bench)
    public.FILE.parent.mkdir(parents=True)
    for k, name in enumerate(LEADS):
        (tmp_path / f"{name}.lis").write_text("".join(f"{i} {1 + k} 0 {i}\n" for i in range(20)))
    return SimpleNamespace(made=made, bench=bench)


def test_every_trace_is_judged_whole_at_every_capacity(rows):
    assert public.main([]) == 0
    assert rows.made == [(name, size, 20 * (1 + k)) for k, name in enumerate(LEADS) for size in SIZES]
    found = read_metrics(public.FILE)
    assert [(name, own.requests, own.page_accesses) for name, own in found.traces.items()] == [
        ("first", 20, 20), ("second", 20, 40)
    ]  # fmt: skip
    assert (found.capacity_fraction, found.fractions) == (0.1, SIZES)


def test_what_is_there_is_not_run_again(rows):
    assert public.main(["second"]) == 0
    assert list(read_metrics(public.FILE).traces) == ["second"]
    assert public.main([]) == public.main([]) == 0
    assert [name for name, *_ in rows.made] == ["second", "second", "first", "first"]
    assert list(read_metrics(public.FILE).traces) == list(LEADS)


@pytest.mark.parametrize("change", ["model", "capacities"])
def test_another_model_or_other_capacities_begin_anew(rows, monkeypatch, change):
    assert public.main([]) == 0
    if change == "model":
        rows.bench.model = rows.bench.model.model_copy(update={"validation": {"hit_ratio": 0.123}})
    else:
        monkeypatch.setattr(
            public.evaluate, "Settings", SimpleNamespace(of=lambda params: SimpleNamespace(capacities=[0.2]))
        )
    assert public.main(["first"]) == 0
    assert list(read_metrics(public.FILE).traces) == ["first"]


def test_the_table_has_what_the_document_has(rows):
    assert public.main([]) == 0
    found = read_metrics(public.FILE)
    lines = public.TABLE.read_text(encoding="utf-8").splitlines()
    heads = next(line for line in lines if line.startswith("| trace"))
    assert all(name in heads for name in ("ours", "lrb", "threelcache", "the optimum", "rival", "lead", "gap closed"))
    own = [line for line in lines if line.startswith(("| first", "| second"))]
    assert len(own) == len(LEADS) * len(SIZES)
    assert "+3.10" in own[0] and "\u22121.20" in own[-1]
    assert ReuseMetrics.model_validate(found.model_dump()) == found


def test_what_is_not_there_is_said(rows, monkeypatch, capsys):
    assert public.main(["third"]) == 1
    assert "third" in capsys.readouterr().err
    monkeypatch.delenv(public.VARIABLE)
    assert public.main([]) == 1
    assert public.VARIABLE in capsys.readouterr().err
    assert rows.made == [] and not public.FILE.exists()
