import gzip
import os
import random
import shutil
from pathlib import Path

import pytest
import yaml

from cachezoo.config.compose import compose
from cachezoo.config.matrix import NewTrace, add_trace
from cachezoo.config.matrix_text import OBJECT_TABLE, WRITE_TABLE, with_trace
from cachezoo.errors import CachezooError, ConfigError, TraceError

ROOT = Path(__file__).resolve().parents[3]
MSR = "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,2517696512,4096,1963\n"
CSV = "time_us,op,offset,size\n0,R,4096,4096\n5,W,8192,4096\n"


MATRIX = """# The table.
page_traces: &page_traces
  database_train:      {path: raw/database_train.parquet, format: parquet, category: database, role: train}
  database_validation: {path: raw/database_validation.parquet, format: parquet, category: database, role: validation}
  database_test:       {path: raw/database_test.parquet, format: parquet, category: database, role: test}
  web_train:           {path: raw/web_train.parquet, format: parquet, category: web, role: train}
  web_validation:      {path: raw/web_validation.parquet, format: parquet, category: web, role: validation}
  web_test:            {path: raw/web_test.parquet, format: parquet, category: web, role: test}
object_traces: &object_traces {}
write_traces: {}
traces:
  <<: [*page_traces, *object_traces]
page_categories: [database, web]
object_categories: []
write_categories: []
categories: [database, web]
stream_categories: {database: data/requests/database, web: data/requests/web}
corpus: {}
corpora: {}
models: {admission: lgbm, caching: lstm3x256, reuse: follow, streams: fios, virtual: vrm,
  workload: lstm50}
"""


@pytest.fixture
def project(tmp_path):
    """The project's conf/ with a small matrix; the traces that it has already are not read."""
    root = tmp_path / "project"
    shutil.copytree(ROOT / "conf", root / "conf")
    (root / "conf/matrix.yaml").write_text(MATRIX)
    (root / "data/raw").mkdir(parents=True)
    (root / "data/raw/mail.csv").write_text(CSV)
    return root


@pytest.fixture
def outside(tmp_path):
    path = tmp_path / "usr_0.csv.gz"
    path.write_bytes(gzip.compress(MSR.encode(), mtime=0))
    return path


def matrix(project: Path) -> str:
    return (project / "conf/matrix.yaml").read_bytes().decode()


def state(project: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in project.rglob("*") if path.is_file()}


def mail(project: Path, **changes) -> NewTrace:
    return NewTrace(**{"file": project / "data/raw/mail.csv", "category": "mail", "role": "train", **changes})


def test_a_row_goes_behind_its_category_and_nothing_else_changes(project, outside):
    before = matrix(project)
    done = add_trace(project, NewTrace(outside, "database", "train"))
    row = (
        "  database_train_2:    {path: data/raw/imported/usr_0.csv.gz, format: msr, category: database, role: train}\n"
    )
    at = before.index("  web_train:")
    assert matrix(project) == before[:at] + row + before[at:]
    assert (done.key, done.new_category, done.missing, done.next_command) == (
        "database_train_2", False, (), "make repro"
    )  # fmt: skip
    assert (project / "data/raw/imported/usr_0.csv.gz").read_bytes() == outside.read_bytes()
    params = yaml.safe_load(compose(project / "conf"))
    assert params["data"]["roles"]["database"]["train"] == ["database_train", "database_train_2"]


def test_a_new_category_says_which_roles_it_lacks(project):
    before = matrix(project)
    first = add_trace(project, mail(project, part=(0.0, 0.5)))
    assert (first.key, first.new_category, first.missing) == ("mail_train", True, ("validation", "test"))
    assert first.next_command == "cachezoo trace add FILE --category mail --role validation"
    row = (
        "  mail_train:          {path: data/raw/mail.csv, format: csv, category: mail, role: train, part: [0.0, 0.5]}\n"
    )
    assert first.notes[-1] == "until mail has a test trace, there are no test figures"
    at = before.index("object_traces:")
    after = before[at:].replace("[database, web]", "[database, mail, web]")
    expected = before[:at] + row + after.replace("web: data", "mail: data/requests/mail, web: data")
    assert matrix(project) == expected
    second = add_trace(project, mail(project, role="test", part=(0.5, 1.0), skip_bad_rows=3))
    assert (second.new_category, second.missing) == (False, ("validation",))
    assert second.entry["skip_bad_rows"] == 3
    assert yaml.safe_load(matrix(project))["traces"]["mail_test"] == second.entry


def test_keys_are_numbered(project, tmp_path):
    keys = []
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(CSV)
        keys.append(add_trace(project, NewTrace(tmp_path / f"{number}.csv", "mail", "train")).key)
    (tmp_path / "own.csv").write_text(CSV)
    keys.append(add_trace(project, NewTrace(tmp_path / "own.csv", "mail", "train", key="march")).key)
    assert keys == ["mail_train", "mail_train_2", "mail_train_3", "march"]
    assert list(yaml.safe_load(matrix(project))["traces"])[-4:] == keys


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"category": "Mail"}, "category 'Mail': take a-z"),
        ({"category": "no"}, "category 'no': .*YAML"),
        ({"category": "workload"}, "take another name"),
        ({"role": "judge"}, "role 'judge': must be one of train, validation, test"),
        ({"key": "mail-1"}, "key 'mail-1': take a-z"),
        ({"key": "null"}, "key 'null': .*YAML"),
        ({"key": "web_train"}, "key web_train: .*has it already"),
        ({"part": (0.5, 0.5)}, "part .* must rise"),
        ({"fmt": "msr"}, r"mail\.csv: does not look like msr, which needs 7 columns .* it looks like csv"),
        ({"fmt": "nosuch"}, "format nosuch: unknown"),
        ({"options": {"colour": "red"}}, "format csv: option colour: no such option"),
        ({"skip_bad_rows": -1}, "skip_bad_rows: .*greater than or equal to 0"),
        ({"file": Path("nosuch.csv")}, r"nosuch\.csv: no such file"),
        ({"file": Path("conf")}, "conf: is a folder"),
    ],
)
def test_a_refusal_is_one_line_and_changes_nothing(project, monkeypatch, changes, message):
    monkeypatch.chdir(project)
    before = state(project)
    with pytest.raises(CachezooError, match=message) as error:
        add_trace(project, mail(project, **changes))
    assert "\n" not in str(error.value)
    assert state(project) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the trace is empty"),
        (b"hello\nworld\n", "is no trace of a known format"),
        (CSV.encode() + b"7,X,0,4096\n", "row 3: op is 'X'"),
        (CSV.split("\n", 1)[0].encode() + b"\n", "the trace is empty"),
        (gzip.compress(random.Random(0).randbytes(9000) + CSV.encode())[:4000], "damaged or cut short"),
    ],
)
def test_a_wrong_file_is_refused_now(project, content, message):
    (project / "data/raw/bad.csv").write_bytes(content)
    before = state(project)
    with pytest.raises(TraceError, match=message):
        add_trace(project, mail(project, file=project / "data/raw/bad.csv"))
    assert state(project) == before


def test_a_file_and_part_go_in_once(project, outside):
    add_trace(project, mail(project, part=(0.0, 0.5)))
    with pytest.raises(ConfigError, match=r"has it already, as mail_train \(mail, train, part \[0\.0, 0\.5\]\)"):
        add_trace(project, mail(project, role="test", part=(0.0, 0.5)))
    add_trace(project, NewTrace(outside, "web", "test"))
    with pytest.raises(ConfigError, match="has it already, as web_test_2"):
        add_trace(project, NewTrace(outside, "web", "test"))
    link = project / "data/raw/other.csv"
    link.symlink_to("mail.csv")
    with pytest.raises(ConfigError, match="has it already, as mail_train"):
        add_trace(project, mail(project, file=link, part=(0.0, 0.5)))


@pytest.mark.parametrize("changes", [{"role": "test"}, {"role": "validation", "part": (0.4, 1.0)}])
def test_roles_that_would_share_requests_are_refused(project, changes):
    add_trace(project, mail(project, part=(0.0, 0.5)))
    before = state(project)
    with pytest.raises(ConfigError, match=r"not added: conf: .*mail_train.* share requests of data/raw/mail\.csv"):
        add_trace(project, mail(project, **changes))
    assert state(project) == before


def test_a_conf_that_is_broken_elsewhere_is_left(project, outside):
    (project / "conf/overrides.yaml").write_text("overrides: [nosuch.key=1]\n")
    before = state(project)
    with pytest.raises(ConfigError, match=r"not added: conf: .*nosuch"):
        add_trace(project, NewTrace(outside, "web", "test"))
    assert state(project) == before


def test_a_folder_that_is_no_project_is_named(tmp_path, outside):
    with pytest.raises(ConfigError, match=r"matrix\.yaml: no such file; run this in the root"):
        add_trace(tmp_path, NewTrace(outside, "web", "test"))


def test_a_file_of_another_content_is_never_overwritten(project, outside):
    there = project / "data/raw/imported/usr_0.csv.gz"
    there.parent.mkdir()
    there.write_text("another")
    before = state(project)
    with pytest.raises(ConfigError, match=r"data/raw/imported/usr_0\.csv\.gz: is another file than"):
        add_trace(project, NewTrace(outside, "web", "test"))
    assert state(project) == before
    there.write_bytes(outside.read_bytes())
    assert add_trace(project, NewTrace(outside, "web", "test")).entry["path"] == "data/raw/imported/usr_0.csv.gz"


def test_a_listed_name_with_other_content_is_said_so(project, outside, tmp_path):
    add_trace(project, NewTrace(outside, "web", "test"))
    namesake = tmp_path / "elsewhere" / outside.name
    namesake.parent.mkdir()
    namesake.write_bytes(gzip.compress(MSR.replace("4096", "8192").encode()))
    with pytest.raises(ConfigError, match=r"is another file than .*rename"):
        add_trace(project, NewTrace(namesake, "web", "test"))


@pytest.mark.parametrize("can_link", [True, False])
def test_a_file_from_outside_is_linked_or_copied(project, outside, monkeypatch, can_link):
    def refuse(*_):
        raise OSError(18, "Invalid cross-device link")

    if not can_link:
        monkeypatch.setattr(os, "link", refuse)
    done = add_trace(project, NewTrace(outside, "web", "test"))
    copy = project / done.entry["path"]
    assert copy.read_bytes() == outside.read_bytes()
    assert copy.samefile(outside) == can_link
    assert "Git ignores" in done.notes[-1]


def test_an_error_while_writing_takes_the_copy_back(project, outside, monkeypatch):
    before = state(project)

    def broken(_):
        raise ConfigError("disk")

    monkeypatch.setattr("cachezoo.config.matrix.atomic_file", broken)
    with pytest.raises(ConfigError, match="disk"):
        add_trace(project, NewTrace(outside, "web", "test"))
    assert state(project) == before


def test_a_reference_names_the_file_where_it_lies(project, outside):
    done = add_trace(project, NewTrace(outside, "web", "test", copy=False))
    assert done.entry["path"] == str(outside.resolve())
    assert "a path of this machine" in done.notes[-2] and "dvc repro -f ingest" in done.notes[-1]
    assert not (project / "data/raw/imported").exists()


@pytest.mark.parametrize("name", ["data/requests/web/x.csv", "models/x.csv", ".dvc/x.csv"])
def test_what_the_pipeline_writes_is_no_raw_trace(project, name):
    (project / name).parent.mkdir(parents=True)
    (project / name).write_text(CSV)
    with pytest.raises(ConfigError, match="the pipeline writes this folder itself"):
        add_trace(project, mail(project, file=project / name))


@pytest.mark.parametrize("name", ["a\nb.csv", "a\udcffb.csv"])
def test_a_name_that_yaml_cannot_hold_is_refused(project, name):
    (project / "data/raw" / name).write_text(CSV)
    with pytest.raises(ConfigError, match="rename the file") as error:
        add_trace(project, mail(project, file=project / "data/raw" / name))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["with blank.csv", "a, b: {c} #d.csv", "grün's.csv", "- x.csv", "a${b}.csv"])
def test_odd_names_are_quoted(project, name):
    (project / "data/raw" / name).write_text(CSV)
    add_trace(project, mail(project, file=project / "data/raw" / name))
    assert yaml.safe_load(matrix(project))["traces"]["mail_train"]["path"] == f"data/raw/{name}"


def test_a_matrix_that_is_no_text_is_named_and_kept(project):
    path = project / "conf/matrix.yaml"
    path.write_bytes(path.read_bytes() + b"# \xff\n")
    before = state(project)
    with pytest.raises(ConfigError, match=r"conf/matrix\.yaml: is no text in UTF-8"):
        add_trace(project, mail(project))
    assert state(project) == before


@pytest.mark.parametrize("what", ["category", "key"])
def test_names_that_no_file_could_have_are_refused(project, what):
    before = state(project)
    with pytest.raises(ConfigError, match=rf"{what} aaaaaaaaaaaaaaaaaaaa…: has 300 characters; take at most"):
        add_trace(project, mail(project, **{what: "a" * 300}))
    text = matrix(project).replace("web_train:  ", f"{'a' * 300}:")
    (project / "conf/matrix.yaml").write_text(text)
    with pytest.raises(ConfigError, match="at most 100 characters"):
        compose(project / "conf")
    (project / "conf/matrix.yaml").write_bytes(before[str(project / "conf/matrix.yaml")])
    long = {"category": "c" * 64} if what == "category" else {"key": "k" * 100}
    add_trace(project, mail(project, **long))


@pytest.mark.parametrize("part", [(0, 1e-300), (0.5, 0.500000001), (0, 0.4), (0.1, 0.2)])
def test_a_part_without_a_request_is_refused(project, part):
    """As ingest would, later: of two requests."""
    before = state(project)
    with pytest.raises(ConfigError, match=r"mail\.csv: part .* of its 2 requests holds none; give a larger one"):
        add_trace(project, mail(project, part=part))
    assert state(project) == before


def test_a_part_with_a_request_is_taken_whatever_its_size(project):
    rows = "".join(f"{k},R,{4096 * k},4096\n" for k in range(5000))
    (project / "data/raw/mail.csv").write_text("time_us,op,offset,size\n" + rows)
    add_trace(project, mail(project, part=(0.5, 0.5003)))


def test_several_volumes_are_noted(project):
    (project / "data/raw/mail.csv").write_text(
        "time_us,op,offset,size,volume\n0,R,0,4096,a\n1,R,0,4096,b\n2,R,0,4096,a\n"
    )
    assert "2 volumes" in add_trace(project, mail(project)).notes[0]


def test_a_category_of_objects_has_a_table_of_its_own(project):
    (project / "data/raw/mail.csv").write_text("time_us,op,offset,size,volume\n0,R,0,4096,a\n1,R,0,4096,b\n")
    first = add_trace(project, mail(project, category="films", objects=True, part=(0.0, 0.5)))
    assert not any("volumes" in note for note in first.notes)
    add_trace(project, mail(project, category="films", role="test", part=(0.5, 1.0)))
    found = yaml.safe_load(matrix(project))
    assert list(found["object_traces"])[-2:] == ["films_train", "films_test"]
    assert found["object_categories"] == ["films"]
    assert "films" in found["categories"] and "films" not in found["page_categories"]
    assert found["traces"] == found["page_traces"] | found["object_traces"]


def test_a_category_keeps_its_table(project, outside):
    with pytest.raises(ConfigError, match=r"category web: .*page_traces; leave --objects out"):
        add_trace(project, NewTrace(outside, "web", "train", objects=True))


def test_a_category_of_writes_serves_streams_alone(project):
    first = add_trace(project, mail(project, category="ledger", writes=True, part=(0.0, 0.5)))
    assert (first.key, first.new_category, first.missing) == ("ledger_train", True, ("validation", "test"))
    add_trace(project, mail(project, category="ledger", role="test", part=(0.5, 1.0)))
    found = yaml.safe_load(matrix(project))
    assert list(found["write_traces"]) == ["ledger_train", "ledger_test"]
    assert found["write_categories"] == ["ledger"]
    assert list(found["stream_categories"]) == ["database", "ledger", "web"]
    assert found["stream_categories"]["ledger"] == "data/writes/ledger"
    assert not {"ledger", "ledger_train"} & {*found["traces"], *found["categories"], *found["page_categories"]}
    data = yaml.safe_load(compose(project / "conf"))["data"]
    assert data["cycles"]["ledger"] == {
        role: [f"data/writes/ledger/ledger_{role}.parquet"] for role in ("train", "test")
    }
    assert data["cycles"]["web"]["train"] == ["data/requests/web/web_train.parquet"]
    assert "ledger" not in data["roles"] and "ledger_train" not in data["traces"]


def test_a_category_of_writes_keeps_its_table_and_its_parts_apart(project):
    add_trace(project, mail(project, category="ledger", writes=True, part=(0.0, 0.5)))
    with pytest.raises(ConfigError, match=r"ledger_test .*share requests"):
        add_trace(project, mail(project, category="ledger", role="test", part=(0.4, 1.0)))
    with pytest.raises(ConfigError, match=r"category ledger: .*write_traces; leave --objects out"):
        add_trace(project, mail(project, category="ledger", role="test", objects=True))
    with pytest.raises(ConfigError, match=r"category web: .*page_traces; leave --writes out"):
        add_trace(project, mail(project, category="web", writes=True))
    with pytest.raises(ConfigError, match="--objects and --writes are two kinds of traces; take one"):
        add_trace(project, mail(project, category="films", objects=True, writes=True))


ROW = {"path": "x", "format": "csv", "category": "m", "role": "test"}
FLOW = "{path: x, format: csv, category: m, role: test}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("object_traces: &x {}\ncategories: []\n", f"object_traces: &x\n  k: {FLOW}\ncategories: [m]\n"),
        ("object_traces: {}\ncategories: []\n", f"object_traces: \n  k: {FLOW}\ncategories: [m]\n"),
        (
            "object_traces:\n# none\ncategories:\n# none\n",
            f"object_traces:\n  k: {FLOW}\n# none\ncategories: [m]\n# none\n",
        ),
        (
            "object_traces:\n  a:   {category: z}  # said\n\n# behind\ncategories: [z]",
            f"object_traces:\n  a:   {{category: z}}  # said\n  k:   {FLOW}\n\n# behind\ncategories: [m, z]",
        ),
        (
            "categories:\n  - a  # one\n  - z\n# c\n"
            "object_traces:\n    a:\n        category: a\n    z: {category: z}\n",
            "categories:\n  - a  # one\n  - m\n  - z\n# c\n"
            f"object_traces:\n    a:\n        category: a\n    z: {{category: z}}\n    k: {FLOW}\n",
        ),
        (
            "object_traces:\n  m_1:\n    category: m\n    path: y\n  # of z\n  z: {category: z}\n"
            "categories:\n- m\n- z\n",
            f"object_traces:\n  m_1:\n    category: m\n    path: y\n  k: {FLOW}\n  # of z\n  z: {{category: z}}\n"
            "categories:\n- m\n- z\n",
        ),
        (
            "object_traces: {a: {category: a},\n  b: {category: b}, }\ncategories: ['a', b]\n",
            f"object_traces: {{a: {{category: a}},\n  b: {{category: b}}, k: {FLOW}, }}\ncategories: ['a', b, m]\n",
        ),
        (
            "object_traces:\r\n  a: {category: a}\r\ncategories: [a]\r\n",
            f"object_traces:\r\n  a: {{category: a}}\r\n  k: {FLOW}\r\ncategories: [a, m]\r\n",
        ),
        (
            "categories:\n- a\nobject_traces:\n  a: {category: a}",
            f"categories:\n- a\n- m\nobject_traces:\n  a: {{category: a}}\n  k: {FLOW}",
        ),
        (
            "object_traces:\n  a: &x {category: a}\n  b: *x\ncategories: [a]\n",
            f"object_traces:\n  a: &x {{category: a}}\n  b: *x\n  k: {FLOW}\ncategories: [a, m]\n",
        ),
    ],
)
def test_every_layout_keeps_its_bytes(before, after):
    lists = "object_categories: []\n"
    assert with_trace(lists + before, "matrix.yaml", "k", ROW, OBJECT_TABLE) == lists.replace("[]", "[m]") + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", "{m: data/writes/m}"),
        ("{z: x}", "{m: data/writes/m, z: x}"),
        ("{a: x}", "{a: x, m: data/writes/m}"),
        ("\n  a: x  # said\n  z: x", "\n  a: x  # said\n  m: data/writes/m\n  z: x"),
        ("\n  a: x  # said\n", "\n  a: x  # said\n  m: data/writes/m\n"),
    ],
)
def test_the_folder_of_a_category_of_writes_goes_where_its_name_sorts(before, after):
    text = "write_traces: {}\nwrite_categories: []\nstream_categories: "
    wanted = f"write_traces: \n  k: {FLOW}\nwrite_categories: [m]\nstream_categories: {after}"
    assert with_trace(text + before, "matrix.yaml", "k", ROW, WRITE_TABLE) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object_traces: [\n", "not readable as YAML"),
        ("- a\n", "its keys must be"),
        ("", "its keys must be"),
        ("object_traces:\n  ? a\n  : {category: a}\ncategories: &c [a]\nmodels: *c\n", "by hand: k: "),
    ],
)
def test_a_layout_that_takes_no_row_is_left_to_the_user(text, message):
    with pytest.raises(ConfigError, match=message) as error:
        with_trace(text, "matrix.yaml", "k", {**ROW, "category": "m"}, OBJECT_TABLE)
    assert "\n" not in str(error.value)
