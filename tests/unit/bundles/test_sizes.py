"""Numbers of a manifest, and golden requests, that would have a kernel compute without end or fill the memory."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cachezoo.bundles import load, verify
from cachezoo.bundles.protocol import GOLDEN_REQUESTS, MANIFEST
from cachezoo.errors import BundleError, ConfigError
from cachezoo.serving.ranges import check_sizes, integer
from cachezoo.zoo.registry import SYSTEMS, UNTRAINED, bundling_of
from tests.bundle_data import reseal

STORED = {
    path.parent.name.split(".")[0]: path.parent for path in Path(__file__).parents[2].glob(f"golden/*/*/{MANIFEST}")
}
KINDS = sorted([*SYSTEMS, *UNTRAINED])
PLACES = [(kind, place) for kind in KINDS for place in bundling_of(kind).kind.load().sizes]


@pytest.fixture
def copy_of(tmp_path: Path) -> Any:
    return lambda kind: Path(shutil.copytree(STORED[kind], tmp_path / "bundle"))


def put(manifest: dict[str, Any], place: str, change: Any) -> None:
    """Change a value of a manifest; of a list, its last number."""
    *keys, last = place.removesuffix("[]").split(".")
    holder: Any = manifest
    for key in keys:
        holder = holder[key]
    if place.endswith("[]"):
        holder, last = holder[last], -1
    holder[last] = change(holder[last])


@pytest.mark.parametrize("value", [-(2**63), -1, 2**62 + 1, 2**70, 10**400, 1.0, True, "7", None, []])
@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_a_size_out_of_range_is_one_line(copy_of: Any, kind: str, place: str, value: Any) -> None:
    copy = copy_of(kind)
    reseal(copy, lambda manifest: put(manifest, place, lambda _: value))
    with pytest.raises(
        BundleError,
        match=rf"does not describe an? {kind} model|breaks the (manifest|model)'s schema|not readable as JSON",
    ) as caught:
        load(copy)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_place_that_is_missing_is_one_line(copy_of: Any) -> None:
    copy = copy_of("caching")
    reseal(copy, lambda manifest: manifest["policy"].pop("memory"))
    with pytest.raises(BundleError, match="memory is missing"):
        load(copy)


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        (2, str(2**62), "row 2: offset is .* overflows"),
        (3, str(2**40), "row 2: size is .*1 GiB"),
        (3, str(2**30), r"touches more than 4194304 pages"),
    ],
)
def test_golden_requests_that_no_trace_holds(copy_of: Any, field: int, value: str, match: str) -> None:
    copy = copy_of("caching")
    path = copy / GOLDEN_REQUESTS
    rows = [line.split(",") for line in path.read_text().splitlines()]
    for row in rows[2:3] if "row" in match else rows[1:]:
        row[field] = value
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    reseal(copy)
    with pytest.raises(BundleError, match=match):
        verify(copy)


def test_ranges_include_their_ends() -> None:
    assert [integer(value, "x", 1, 3) for value in (1, 3)] == [1, 3]
    manifest: Mapping[str, Any] = {"a": {"b": [1, 2]}, "c": 3}
    check_sizes(manifest, {"a.b[]": (1, 2), "c": (3, 3)})
    for sizes in ({"a.b[]": (1, 1)}, {"a.b[]": (2, 2)}, {"c": (4, 5)}, {"a": (1, 2)}, {"a.b": (1, 2)}):
        with pytest.raises(ConfigError, match="not a whole number from"):
            check_sizes(manifest, sizes)
    for value in ([1] * 65, [], 1, {"1": 1}, None):
        with pytest.raises(ConfigError, match=r"a\[\] is no list of 1 to 64 numbers"):
            check_sizes({"a": value}, {"a[]": (1, 1)})
