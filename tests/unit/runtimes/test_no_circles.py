"""No file of libcachezoo needs itself: neither by its own headers, nor by what the functions that it calls need."""

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[3] / "runtimes/c"
FOLDERS = ("src", "nbdkit")
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# What other files can call or read: its definition begins a line, and is not static.
DEFINED = re.compile(
    r"^(?!static\b|extern\b|typedef\b|#|\s)[\w* ]+?\b(?!main\b)(\w+)(?:\([^;{}]*\)\s*\{|(?:\[\w*\])* = )", re.MULTILINE
)


def needs(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """What each file includes of the others, and where a source's functions and values are defined."""
    code = {name: NO_CODE.sub(" ", text) for name, text in texts.items()}
    sources = {name: text for name, text in code.items() if name.endswith(".c")}
    home = {found: name for name, text in sources.items() for found in DEFINED.findall(text)}
    found = {name: {Path(one).name for one in INCLUDE.findall(text)} & set(texts) for name, text in texts.items()}
    for name, text in sources.items():
        found[name] |= {home[word] for word in set(re.findall(r"\w+", text)) & set(home)} - {name}
    return found


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Files of which each needs the next, and the last the first; empty where there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


# Parts that are still one: the filter's common ground with what it hands fills and writes to, and the page cache of
# classics with its evictions. Nothing else may join them.
RINGS = (
    {"back.c", "back_clean.c", "back_start.c", "queue.c", "served.c"},
    {"kind_policy.c", "policy_arc.c", "policy_cache.c", "policy_golden.c", "policy_lirs.c", "policy_queues.c"},
)


def test_libcachezoo_and_its_filter_have_no_circle_but_two_known_rings():
    texts = {path.name: path.read_text() for folder in FOLDERS for path in sorted((LIBRARY / folder).glob("*.[ch]"))}
    graph = needs(texts)
    assert graph["zip.c"] >= {"store.h", "store.c"} and graph["kinds.c"] >= {"kind_reuse.c", "bundle.h"}
    for ring in RINGS:
        own = {name: graph[name] & ring for name in ring}
        assert circle(own)  # else it is parted, and leaves this list
        graph |= {name: graph[name] - ring for name in ring}
    assert circle(graph) == []


CALLED = "int first(int b,\n          int c) {\n}\n"
COMMENT = 'int first(void) {\n    return 0; /* second */\n}\nconst char *text = "second";\n'


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        ({"a.h": '#include "b.h"\n', "b.h": '#include "a.h"\n'}, {"a.h", "b.h"}),
        ({"a.c": "int first(void) {\n    return second;\n}\n", "b.c": "const int second = first();\n"}, {"a.c", "b.c"}),
        ({"a.c": CALLED, "b.c": "static int second(void) {\n    first(1, 2);\n}\n"}, set()),
        ({"a.c": COMMENT, "b.c": "int second = first;\n"}, set()),
    ],
)
def test_a_circle_is_found(texts, wanted):
    assert set(circle(needs(texts))) == wanted
