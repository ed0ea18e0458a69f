"""What a question from Python is answered with: figures as rows and as a DataFrame, what they say, and a picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cachezoo.errors import ConfigError
from cachezoo.show.output import flat

if TYPE_CHECKING:
    import pandas as pd

SVG = "picture.svg"


@dataclass(frozen=True)
class Picture:
    """A plot, which a notebook shows and `save` writes."""

    svg: str  # an SVG document

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path | str) -> Path:
        """Write the SVG.

        Raises:
            ConfigError: another ending than .svg.
            CachezooError: the file cannot be written.
        """
        from cachezoo.io import atomic_file

        path = Path(path)
        if path.suffix != ".svg":
            raise ConfigError(f"{path}: this picture is an SVG; give a name that ends in .svg")
        with atomic_file(path) as temporary:
            temporary.write_text(self.svg, encoding="utf-8")
        return path


@dataclass(frozen=True)
class Result:
    """An answer.

    Attributes:
        title: what it is of.
        values: all figures, as `--json` of the command prints them.
        rows: those of the table.
        says: sentences, as the command prints them; none where the table says all.
        found: the object behind the command, for what is not among the rows.
        draw: writes the command's picture into a file of that name; None where it has none.
    """

    title: str
    values: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    says: Sequence[str] = ()
    found: Any = field(default=None, repr=False)
    draw: Callable[[Path], None] | None = field(default=None, repr=False)

    @property
    def frame(self) -> "pd.DataFrame":
        """The rows as a DataFrame; a part of a row has the part's name before its own."""
        import pandas as pd

        return pd.DataFrame([flat(row) for row in self.rows])

    def __len__(self) -> int:
        """Rows."""
        return len(self.rows)

    def __getitem__(self, column: str) -> Any:  # noqa: ANN401 - any figure
        """A figure of the one row, or of several rows a list.

        Raises:
            KeyError: no row has it.
        """
        found = [flat(row)[column] for row in self.rows]
        return found[0] if len(found) == 1 else found

    @property
    def hit_ratio(self) -> float:
        """Of an answer of one row that has one: page hits per page access, or of objects hits per request.

        Raises:
            ConfigError: there are several rows, or none has a hit ratio.
        """
        if len(self.rows) != 1 or "hit_ratio" not in self.rows[0]:
            raise ConfigError(f"{self.title}: {len(self.rows)} rows; take hit_ratio from .frame, or ask for one run")
        return float(self.rows[0]["hit_ratio"])

    def plot(self, path: Path | str | None = None) -> Picture:
        """The command's picture; written too where a path is given.

        Args:
            path: a file that ends in .png or .svg; of `recommend` .svg alone.

        Raises:
            ConfigError: there is no picture of this, or the path ends otherwise.
            CachezooError: the file cannot be written.
        """
        if self.draw is None:
            raise ConfigError(f"{self.title}: there is no picture of this; plot .frame")
        if path is not None:
            if Path(path).suffix not in (".png", ".svg"):
                raise ConfigError(f"{path}: give a name that ends in .png or .svg")
            self.draw(Path(path))
        with TemporaryDirectory() as folder:
            self.draw(Path(folder) / SVG)
            return Picture((Path(folder) / SVG).read_text(encoding="utf-8"))

    def __str__(self) -> str:
        return "\n".join([self.title, *self.says, *([self.frame.to_string(index=False)] if self.rows else [])])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(line)}</p>" for line in self.says)
        table = self.frame.to_html(index=False, border=0, float_format="{:.4f}".format) if self.rows else ""
        return f"<p><b>{escape(self.title)}</b></p>{said}{table}"
