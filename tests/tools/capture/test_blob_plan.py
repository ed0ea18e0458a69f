import numpy as np
import pytest

from cachezoo.errors import ConfigError
from tools.capture.loads import BatchTenant
from tools.capture.programs.blob import Blob
from tools.capture.programs.blob_plan import (
    Read,
    disk_order,
    head,
    object_sizes,
    plan_ingest,
    plan_reads,
    plan_scan,
    tenant_rates,
)
from tools.capture.recipe import RECIPES, load_recipe, parse_recipe
from tools.capture.schedule import build_schedule

RECIPE = load_recipe(RECIPES / "blob_train.yaml")
LOAD = RECIPE.load
MEDIA, TABLES, LOGS = LOAD.tenants
SEGMENTS = build_schedule(RECIPE.schedule, RECIPE.seed).segments


def planned(recipe=RECIPE, days=0.2):
    segments = build_schedule(recipe.schedule, recipe.seed).segments
    return plan_reads(recipe.load, [each for each in segments if each.elapsed_days < days], recipe.seed)


def test_a_plan_is_a_function_of_recipe_and_seed():
    reads = planned()
    assert reads == planned()
    assert reads == sorted(reads)
    assert reads != planned(parse_recipe(RECIPE.model_dump() | {"seed": 1}, "here"))


def test_the_plan_of_a_segment_does_not_depend_on_what_else_is_planned():
    alone = plan_reads(LOAD, SEGMENTS[3:4], RECIPE.seed)
    assert alone
    assert set(alone) <= set(plan_reads(LOAD, SEGMENTS[:5], RECIPE.seed))


def test_sizes_are_pages_within_the_bounds():
    for tenant in LOAD.tenants:
        sizes = object_sizes(tenant, RECIPE.seed)
        assert len(sizes) == tenant.objects
        assert (sizes % 4096 == 0).all()
        assert tenant.min_kib * 1024 <= sizes.min() and sizes.max() <= tenant.max_kib * 1024
        assert np.median(sizes) == pytest.approx(tenant.median_kib * 1024, rel=0.2)


def test_every_range_lies_in_its_object():
    sizes = {tenant.name: object_sizes(tenant, RECIPE.seed) for tenant in LOAD.tenants}
    chunks = {MEDIA.name: MEDIA.chunk_kib * 1024}
    for read in [*planned(), *plan_scan(LOGS, 0.5, RECIPE.seed)]:
        assert 0 <= read.first <= read.last < sizes[read.tenant][read.index]
        assert read.first % 4096 == 0 and (read.last + 1) % 4096 == 0
        assert read.last - read.first < chunks.get(read.tenant, 1 << 30)


def test_streams_go_on_where_they_were_and_queries_begin_with_the_footer():
    reads = plan_reads(LOAD, SEGMENTS[:2], RECIPE.seed)
    starts = {(read.index, read.due_s) for read in reads if read.tenant == MEDIA.name}
    later = [read for read in reads if read.tenant == MEDIA.name and read.first > 0]
    assert later
    for read in later:
        assert any(index == read.index and abs(due - read.due_s + MEDIA.gap_s) < 1e-6 for index, due in starts)
    sizes = object_sizes(TABLES, RECIPE.seed)
    footers = [read for read in reads if read.tenant == TABLES.name and read.last + 1 == sizes[read.index]]
    assert {read.last + 1 - read.first for read in footers} == {TABLES.footer_kib * 1024}


def test_rates_add_up_and_each_tenant_has_its_hour():
    for segment in SEGMENTS:
        assert sum(tenant_rates(LOAD, segment).values()) == pytest.approx(segment.rate)
    shares = [tenant_rates(LOAD, segment)[MEDIA.name] / segment.rate for segment in SEGMENTS[: len(SEGMENTS) // 2]]
    peak = SEGMENTS[int(np.argmax(shares))].elapsed_days
    # The other tenant's hour pulls the largest share away from it.
    assert abs(peak - MEDIA.peak) < 0.25


def test_the_mean_rate_is_the_recipes():
    reads = plan_reads(LOAD, SEGMENTS, RECIPE.seed)
    seconds = RECIPE.schedule.days * RECIPE.schedule.day_s
    assert len(reads) / seconds == pytest.approx(RECIPE.schedule.rate, rel=0.1)


def test_popular_objects_are_the_newest_and_change():
    def middle(day):
        segments = [each for each in SEGMENTS if day <= each.elapsed_days < day + 0.1]
        reads = [read for read in plan_reads(LOAD, segments, RECIPE.seed) if read.tenant == MEDIA.name]
        ages = [(head(MEDIA, day) - 1 - read.index) % MEDIA.objects for read in reads]
        return np.median(ages), {read.index for read in reads}

    (early, first), (late, second) = middle(0.0), middle(1.0)
    assert early < MEDIA.objects / 2 and late < MEDIA.objects / 2
    assert first != second


def test_a_scan_reads_the_newest_window_in_order_at_its_pace():
    reads = plan_scan(LOGS, 0.5, RECIPE.seed)
    sizes = object_sizes(LOGS, RECIPE.seed)
    seen = list(dict.fromkeys(read.index for read in reads))
    assert len(seen) == LOGS.window_objects
    assert seen[-1] == (head(LOGS, 0.5) - 1) % LOGS.objects
    assert [(index + 1) % LOGS.objects for index in seen[:-1]] == seen[1:]
    total = sum(read.last + 1 - read.first for read in reads)
    assert total == sizes[seen].sum()
    assert reads[-1].due_s == pytest.approx(total / LOGS.scan_mib_s / (1 << 20), rel=0.1)


def test_an_ingest_writes_what_becomes_the_newest():
    written = plan_ingest(MEDIA, 0.0)
    assert written == list(range(MEDIA.ingest_objects))
    day = (MEDIA.ingest_objects + 0.5) / MEDIA.drift_objects
    assert (head(MEDIA, day) - 1) % MEDIA.objects == written[-1]


def test_objects_are_laid_out_once_each():
    for tenant in LOAD.tenants:
        order = disk_order(tenant, RECIPE.seed)
        assert sorted(order) == list(range(tenant.objects))
        assert (order == sorted(order)) == isinstance(tenant, BatchTenant)


def test_a_request_line():
    assert Read(2.5, "media", 7, 0, 4095).line(2.0) == "500.000 /media/objects/000007 bytes=0-4095"


def test_volumes_are_the_tenants():
    assert Blob.volumes(RECIPE) == ("media", "tables", "logs")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tenants: [tenants[0], tenants[0]], "names of their own"),
        (lambda tenants: [tenants[2], tenants[2] | {"name": "other"}], "read all day"),
        (lambda tenants: [*tenants, tenants[0] | {"kind": "tape", "name": "t"}], "tag 'tape'"),
        (lambda tenants: [*tenants, tenants[0] | {"name": "a/b"}], "load.blob.tenants.3.stream.name"),
    ],
)
def test_bad_tenants_are_named_in_one_line(change, message):
    values = RECIPE.model_dump(mode="json", exclude_none=True)
    values["load"]["tenants"] = change(values["load"]["tenants"])
    with pytest.raises(ConfigError, match=message) as caught:
        parse_recipe(values, "here")
    assert "\n" not in str(caught.value)
