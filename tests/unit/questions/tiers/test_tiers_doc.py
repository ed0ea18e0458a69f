"""docs/tiers.md: its Python runs as it stands, and the texts that it names are hierarchies."""

import re
from pathlib import Path

from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from tests.tiers_data import skewed

TEXT = (Path(__file__).parents[4] / "docs" / "tiers.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def test_its_python_runs():
    names = {"trace": skewed(60_000, 40_000).trace}
    for match in BLOCK.finditer(TEXT):
        exec(match[1], names)
    assert [run.ssd_pages for run in names["runs"]] == [5_000, 10_000, 20_000]
    found = names["found"].tiered
    assert found.shr > 0 and found.reads + found.writes == 30_000


def test_its_tables_name_hierarchies():
    tabled = [text.replace("\\|", "|") for text in TABLED.findall(TEXT.partition("## What happens")[0])]
    real = [text for text in tabled if "RAM" not in text]
    assert {"hca", "l2arc", "hcalfu", "inlfu", "lfu"} <= set(real)
    for text in real:
        parse_hierarchy(text)
