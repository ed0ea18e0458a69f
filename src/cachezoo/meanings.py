"""What fields, columns and files mean, in words that stand beside the code that writes them.

The data dictionary is generated from these (`scripts/data_dictionary.py`). They change no byte of any output, so
`cachezoo.closure` leaves them out of what a stage depends on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Presence = Literal["always", "sometimes"]
Handler = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True)
class Means:
    """What a field or a column holds; of a field in `Annotated[type, Means(...)]`."""

    text: str  # its meaning
    unit: str = ""  # of its numbers; empty where they have none

    def __get_pydantic_json_schema__(self, schema: Any, handler: Handler) -> dict[str, Any]:  # noqa: ANN401
        """Put both into the field's JSON Schema."""
        return {**handler(schema), "description": self.text} | ({"unit": self.unit} if self.unit else {})


@dataclass(frozen=True)
class Each:
    """What a row of a table, an entry of a list or mapping, or an object is of."""

    of: str = ""  # the unit of observation; empty where it is that of the document around it
    key: str = ""  # what tells them apart; likewise
    name: str = ""  # what a mapping's keys are: `trace` is shown as `<trace>`; `column.name` are those of two levels
    text: str = ""  # what a file is, or what the numbers of a mapping mean; empty where entries are documents
    unit: str = ""  # of those numbers
    like: str = ""  # of an object that is spelled out elsewhere: as what
    presence: Presence = "always"  # of the entries, `always` in such a file or `sometimes`

    def __get_pydantic_json_schema__(self, schema: Any, handler: Handler) -> dict[str, Any]:  # noqa: ANN401
        """Put what it is into the field's JSON Schema."""
        return {**handler(schema), "description": self.text or self.of}


@dataclass(frozen=True)
class Column:
    """A column of a table, or a key of a document that has no type of its own."""

    type: str  # as the data dictionary writes it: `int64`, `coded text`, `list of int32`, `number or null` …
    means: Means  # its meaning and unit
    presence: Presence = "always"  # `always` in such a file, or `sometimes`


@dataclass(frozen=True)
class Rows:
    """Entries of a list in a document that has no type of its own, under `name[]`."""

    each: Each
    columns: Mapping[str, Column]


Columns = Mapping[str, Column]
Keys = Mapping[str, Column | Rows]


@dataclass(frozen=True)
class Table:
    """A file: what a row of it or the whole of it is of, its columns or keys, and a Parquet file's own metadata.

    Names may hold `<name>`, which stands for any text.
    """

    each: Each
    columns: Keys = field(default_factory=dict)
    metadata: Columns = field(default_factory=dict)
