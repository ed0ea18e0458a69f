"""The traces of conf/matrix.yaml, as stages see them."""

import posixpath
from collections.abc import Mapping
from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, model_validator

from cachezoo import paths
from cachezoo.settings.base import Strict

Fraction = Annotated[float, Field(ge=0, le=1, strict=True)]
LONGEST_CATEGORY, LONGEST_KEY = 64, 100
"""Characters: names of files and folders are made of them, and keys of categories."""
Category = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=LONGEST_CATEGORY)]
Key = Annotated[str, Field(max_length=LONGEST_KEY)]
Role = Literal["train", "validation", "test"]
CorpusRole = Literal["train", "test"]
Roles = dict[Role, list[str]]
# Where the canonical requests of page traces lie, and of traces that are for streams alone.
REQUESTS, WRITES = str(paths.REQUESTS), str(paths.WRITES)


class TraceEntry(Strict):
    """One row of conf/matrix.yaml.

    Attributes:
        path: the trace's file.
        format: `auto` or a registered format; ingest refuses an unknown one.
        category: of workload.
        role: what the trace is for.
        part: cuts the trace by request before anything is learned from it.
        options: the format's options.
        skip_bad_rows: how many rows may be skipped instead of refused.
        unseen: a test trace of a program that no train trace of the category was recorded from.
    """

    path: str
    format: str
    category: Category
    role: Role
    part: Annotated[tuple[Fraction, Fraction], Field(strict=False)] = (0.0, 1.0)  # a list in YAML
    options: dict[str, str] = Field(default_factory=dict)
    skip_bad_rows: int = Field(default=0, ge=0, le=1 << 40)
    unseen: bool = False

    @model_validator(mode="after")
    def _sensible(self) -> "TraceEntry":
        if self.category in ("workload", "flash"):
            raise ValueError(f"category {self.category}: metrics/ holds something else by that name; take another name")
        if self.unseen and self.role != "test":
            message = f"unseen is said of a {self.role} trace, but only a test trace can be of an unseen program"
            raise ValueError(message)
        if self.part[0] >= self.part[1]:
            raise ValueError(f"part {list(self.part)} must rise within 0 and 1")
        return self


class CorpusEntry(Strict):
    """One row of the matrix's corpus, without its category."""

    path: str  # the trace's file
    format: str  # `auto` or a registered format
    program: str = Field(pattern=r"^[a-z][a-z0-9_]*$")  # what was captured
    setup: str = Field(pattern=r"^[a-z][a-z0-9_]*$")  # the program's set-up
    role: CorpusRole  # what the trace is for
    long: bool = False  # a test trace of at least 300 capacities of page accesses: what the learned cache is judged on
    home: bool = False  # a long one of a recipe that a train trace was recorded from, with another seed
    unseen: bool = False  # a test trace of a program that no train trace of the category was recorded from


Corpus = dict[Category, dict[Key, CorpusEntry]]


def roles_of(traces: Mapping[str, TraceEntry]) -> dict[str, Roles]:
    """Keys of each category's traces by role, sorted."""
    found: dict[str, Roles] = {}
    for key, entry in sorted(traces.items()):
        found.setdefault(entry.category, {}).setdefault(entry.role, []).append(key)
    return found


def cycles_of(data: "Data") -> dict[str, Roles]:
    """Of each category that streams are learned for, the canonical requests of its traces by role, sorted by key.

    They are the cycles of one drive: its volumes' writes while a model learns, while it is judged, while it is tested.
    A trace of an unseen program is of other volumes, and so no cycle.
    """
    pages = {key: entry for key, entry in data.traces.items() if entry.category in data.page_categories}
    found: dict[str, Roles] = {}
    for folder, entries in ((REQUESTS, pages), (WRITES, data.writes)):
        own = roles_of({key: entry for key, entry in entries.items() if not entry.unseen})
        for category, roles in own.items():
            files = {role: [f"{folder}/{category}/{key}.parquet" for key in keys] for role, keys in roles.items()}
            found[category] = files
    return found


class Data(Strict):
    """`data`: the matrix, as stages see it.

    Attributes:
        traces: by key.
        roles: keys of each category's traces by role. Follows from `traces`; the compose stage writes it, so that a
            category's stages depend on its own traces alone.
        corpus: traces of many programs and set-ups, by category and key.
        page_categories: those whose traces serve a page cache; the others' are of objects, for a flash cache alone.
        writes: traces that are for the streams of an SSD alone, by key.
        cycles: see `cycles_of`; the compose stage writes it too.
    """

    traces: dict[Key, TraceEntry]
    page_categories: list[str]
    roles: dict[str, Roles] = Field(default_factory=dict)
    corpus: Corpus = Field(default_factory=dict)
    writes: dict[Key, TraceEntry] = Field(default_factory=dict)
    cycles: dict[str, Roles] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _unseen(self) -> "Data":
        for category, rows in self.corpus.items():
            trained = {row.program for row in rows.values() if row.role == "train"}
            for key, row in rows.items():
                if row.long and row.role != "test":
                    raise ValueError(f"corpus {key}: long is said of a {row.role} trace, but only a test trace can be")
                if row.home and (row.unseen or not row.long):
                    raise ValueError(f"corpus {key}: home is said of a long trace of a program that was trained on")
                if row.unseen == (row.program in trained):
                    said = "a train trace is of it too" if row.unseen else "no train trace is of it"
                    message = f"corpus {key}: unseen is {row.unseen}, but its program is {row.program} and {said}"
                    raise ValueError(message)
            if category not in self.page_categories:
                raise ValueError(f"corpus: {category} is no category of page traces")
        return self

    @model_validator(mode="after")
    def _own_keys(self) -> "Data":
        tables = [set(self.traces), set(self.writes), *(set(rows) for rows in self.corpus.values())]
        for one, other in combinations(tables, 2):
            if one & other:
                raise ValueError(f"key {min(one & other)} stands in two tables; give each trace a key of its own")
        return self

    @model_validator(mode="after")
    def _follows(self) -> "Data":
        for name, said, found in (
            ("roles", self.roles, roles_of(self.traces)),
            ("cycles", self.cycles, cycles_of(self)),
        ):
            if said and said != found:
                raise ValueError(f"{name} do not follow from traces: run `dvc repro compose`")
        return self

    @model_validator(mode="after")
    def _apart(self) -> "Data":
        for (key, one), (other, two) in combinations(sorted({**self.traces, **self.writes}.items()), 2):
            if one.role == two.role or posixpath.normpath(one.path) != posixpath.normpath(two.path):
                continue
            said = f"traces {key} ({one.role}, part {list(one.part)}) and {other} ({two.role}, part {list(two.part)})"
            if max(one.part[0], two.part[0]) < min(one.part[1], two.part[1]):
                message = f"{said} share requests of {one.path}: give them parts that do not overlap, or other files"
                raise ValueError(message)
            train, held = (one, two) if one.role == "train" else (two, one)
            if train.role == "train" and held.part[0] < train.part[0]:
                message = f"{said}: training comes first in time: give the train trace the earlier part of {one.path}"
                raise ValueError(message)
        return self
