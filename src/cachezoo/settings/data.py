"""The traces of conf/matrix.yaml, as stages see them."""

import posixpath
from collections.abc import Mapping
from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, model_validator

from cachezoo.settings.base import Strict

Fraction = Annotated[float, Field(ge=0, le=1, strict=True)]
Role = Literal["train", "validation", "test"]
Roles = dict[Role, list[str]]


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
    category: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    role: Role
    part: Annotated[tuple[Fraction, Fraction], Field(strict=False)] = (0.0, 1.0)  # a list in YAML
    options: dict[str, str] = Field(default_factory=dict)
    skip_bad_rows: int = Field(default=0, ge=0, le=1 << 40)
    unseen: bool = False

    @model_validator(mode="after")
    def _sensible(self) -> "TraceEntry":
        if self.category in ("workload", "flash"):
            message = f"category {self.category}: metrics/ holds something else by that name; take another name"
            raise ValueError(message)
        if self.unseen and self.role != "test":
            message = f"unseen is said of a {self.role} trace, but only a test trace can be of an unseen program"
            raise ValueError(message)
        if self.part[0] >= self.part[1]:
            message = f"part {list(self.part)} must rise within 0 and 1"
            raise ValueError(message)
        return self


def roles_of(traces: Mapping[str, TraceEntry]) -> dict[str, Roles]:
    """Keys of each category's traces by role, sorted."""
    found: dict[str, Roles] = {}
    for key, entry in sorted(traces.items()):
        found.setdefault(entry.category, {}).setdefault(entry.role, []).append(key)
    return found


class Data(Strict):
    """`data`: the matrix, as stages see it.

    Attributes:
        traces: by key.
        roles: keys of each category's traces by role. Follows from `traces`; the compose stage writes it, so that a
            category's stages depend on its own traces alone.
        page_categories: those whose traces serve a page cache; the others' are of objects, for a flash cache alone.
    """

    traces: dict[str, TraceEntry]
    page_categories: list[str]
    roles: dict[str, Roles] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _follows(self) -> "Data":
        if self.roles and self.roles != roles_of(self.traces):
            message = "roles do not follow from traces: run `dvc repro compose`"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _apart(self) -> "Data":
        for (key, one), (other, two) in combinations(sorted(self.traces.items()), 2):
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
