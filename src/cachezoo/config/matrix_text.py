"""Edits of conf/matrix.yaml as text: what is not added keeps its bytes, comments, order and columns."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from cachezoo.errors import ConfigError
from cachezoo.settings.data import REQUESTS, WRITES
from cachezoo.yaml_file import parsed

# Page traces serve a page cache, of RC-RNN's models and the classics; object traces a flash cache alone (Baleen); write
# traces the streams of an SSD alone (FIOS), and so are none of `traces`, which caches go over.
PAGE_TABLE, OBJECT_TABLE, WRITE_TABLE = "page_traces", "object_traces", "write_traces"
LISTS = {PAGE_TABLE: "page_categories", OBJECT_TABLE: "object_categories", WRITE_TABLE: "write_categories"}
CACHE_TABLES = (PAGE_TABLE, OBJECT_TABLE)
# The categories that streams are learned for, each with the folder of its requests.
STREAMS = "stream_categories"
FOLDERS = {PAGE_TABLE: REQUESTS, WRITE_TABLE: WRITES}
# The corpus: traces of many programs and set-ups, and for each of its categories the folder that holds the files.
CORPUS, CORPORA = "corpus", "corpora"
KEYS = (*LISTS, "traces", *LISTS.values(), "categories", STREAMS, CORPUS, CORPORA, "models")

Edit = tuple[int, int, str]
Pair = tuple[yaml.ScalarNode, yaml.Node]


def flow(value: object) -> str:
    """A value on one line of YAML, its keys in their order."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...")


def with_trace(text: str, where: str, key: str, row: Mapping[str, Any], table: str = PAGE_TABLE) -> str:
    """The matrix with one more trace, behind its category's last, and its category among the categories.

    Args:
        text: of the matrix.
        where: its path, for errors.
        key: of the new trace.
        row: its entry, with a category.
        table: which table it goes to.

    Raises:
        ConfigError: the text is no matrix, or is laid out so that a row cannot be put in.
    """
    by_hand = f"add the row by hand: {key}: {flow(dict(row))}"
    before = parsed(text, where)
    root = yaml.compose(text, yaml.SafeLoader)
    sections = {pair[0].value: pair[1] for pair in _pairs(root)} if isinstance(root, yaml.MappingNode) else {}
    lists = [LISTS[table], *(["categories"] if table in CACHE_TABLES else [])]
    folders = [STREAMS] if table in FOLDERS else []
    if not {table, *lists, *folders} <= set(sections):
        raise ConfigError(f"{where}: its keys must be {', '.join(KEYS)}; {by_hand}")
    newline = "\r\n" if "\r\n" in text else "\n"
    edits = [_row_edit(text, sections[table], key, row, newline)]
    wanted = {**before, table: {**(before[table] or {}), key: dict(row)}}
    if "traces" in before and table in CACHE_TABLES:
        wanted["traces"] = {**(before["traces"] or {}), key: dict(row)}
    for name in lists:
        if row["category"] not in (before[name] or []):
            edits.append(_category_edit(text, sections[name], row["category"], row["category"], newline))
            wanted[name] = sorted([*(before[name] or []), row["category"]])
    for name in folders:
        if row["category"] not in (before[name] or {}):
            folder = f"{FOLDERS[table]}/{row['category']}"
            edits.append(_category_edit(text, sections[name], row["category"], f"{row['category']}: {folder}", newline))
            wanted[name] = {**(before[name] or {}), row["category"]: folder}
    for first, end, put in sorted(edits, reverse=True):
        text = text[:first] + put + text[end:]
    if not _says(text, wanted):
        raise ConfigError(f"{where}: is laid out so that no row can be put in; {by_hand}")
    return text


def _says(text: str, wanted: dict[str, Any]) -> bool:
    """Whether a matrix holds what it should, its categories in any order."""
    try:
        return _in_order(parsed(text, "")) == _in_order(wanted)
    except (ConfigError, TypeError):
        return False


def _in_order(matrix: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, list) else value for name, value in matrix.items()}


def _pairs(node: yaml.MappingNode) -> list[Pair]:
    return [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]


def _end(node: yaml.Node) -> int:
    """Where the last character of a node lies; a block's own mark lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        parts = [item if isinstance(item, tuple) else (item,) for item in node.value]
        return max(_end(part) for item in parts for part in item)
    return int(node.end_mark.index)


def _line_end(text: str, index: int) -> int:
    """Where the line that holds `index` ends, its line break left out."""
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return end - 1 if text[:end].endswith("\r") else end


def _is_of(value: yaml.Node, category: str) -> bool:
    return isinstance(value, yaml.MappingNode) and any(
        name.value == "category" and said.value == category for name, said in _pairs(value)
    )


def _row_edit(text: str, traces: yaml.Node, key: str, row: Mapping[str, Any], newline: str) -> Edit:
    """Where a row goes: behind the last of its category, or of all; its value in the column of the others."""
    pairs = _pairs(traces) if isinstance(traces, yaml.MappingNode) else []
    if not isinstance(traces, yaml.MappingNode) or not pairs:
        first, end = traces.start_mark.index, traces.end_mark.index
        anchor = re.match(r"&\S+", text[first:end])
        return first, end, f"{anchor[0] if anchor else ''}{newline}  {key}: {flow(dict(row))}"
    own = [pair for pair in pairs if _is_of(pair[1], row["category"])]
    after = (own or pairs)[-1]
    end = max(_end(node) for node in after)
    if traces.flow_style:
        return end, end, f", {key}: {flow(dict(row))}"
    indent = after[0].start_mark.column
    columns = {value.start_mark.column for name, value in pairs if value.start_mark.line == name.start_mark.line}
    width = min(columns) - indent if len(columns) == 1 else 0
    at = _line_end(text, end)
    return at, at, f"{newline}{' ' * indent}{f'{key}: ':<{width}}{flow(dict(row))}"


def _category_edit(text: str, categories: yaml.Node, name: str, said: str, newline: str) -> Edit:
    """Where a category goes: before the first that sorts behind it; `said` is its name, in a mapping with its value."""
    listed = isinstance(categories, yaml.SequenceNode)
    pairs = [(item, item) for item in categories.value] if listed else []
    pairs = _pairs(categories) if isinstance(categories, yaml.MappingNode) else pairs
    if not pairs:
        space = "" if text[: categories.start_mark.index].endswith((" ", "\n")) else " "
        whole = f"{{{said}}}" if said != name else f"[{said}]"
        return categories.start_mark.index, categories.end_mark.index, space + whole
    behind = next((key for key, _ in pairs if str(key.value) > name), None)
    last = _end(pairs[-1][1])
    if categories.flow_style:  # type: ignore[attr-defined]
        first = last if behind is None else behind.start_mark.index
        return first, first, f", {said}" if behind is None else f"{said}, "
    anchor = behind or pairs[-1][0]
    begin = text.rfind("\n", 0, anchor.start_mark.index) + 1
    line = text[begin : anchor.start_mark.index] + said
    at = _line_end(text, last)
    return (at, at, newline + line) if behind is None else (begin, begin, line + newline)
