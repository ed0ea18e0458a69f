"""The stages of dvc.yaml: `scripts/python pipelines/stages.py NAME`, or with a job's key after it that job alone.

Each names what it does, its jobs, and what these read and write. An entry of the table, with the functions here that it
uses, counts as the stage's own file (`cachezoo.closure`): it imports what it names, and no stage depends on another's.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.kept import (
    Each,
    Names,
    all_traces,
    categories,
    corpora,
    one_job,
    page_categories,
    page_traces,
    stream_categories,
    stream_traces,
    traces,
)
from cachezoo.params import entry_of, requests_of
from cachezoo.stage import Stage, run

if TYPE_CHECKING:
    from cachezoo.metrics.page import CategoryMetrics
    from cachezoo.questions.share.columns import ShareMetrics
    from cachezoo.settings.params import Params
    from cachezoo.zoo.workload.metrics import WorkloadMetrics


def sources() -> None:
    """The source files that each stage runs, by hash."""
    from cachezoo.closure import write_sources

    write_sources(Path(), paths.SOURCES)


def compose() -> None:
    """conf/ to params.yaml, which no other stage writes."""
    from cachezoo.config.compose import write_params

    write_params(Path("conf"), paths.PARAMS, paths.TRACES)


def ingest(params: "Params", key: str) -> None:
    """A raw trace to canonical requests with dense page ids, cut to its part."""
    from cachezoo.traces.ingest import ingest
    from cachezoo.traces.read import TraceFiles

    entry = entry_of(params, key)
    files = TraceFiles([Path(entry.path)], entry.format, entry.category, key, entry.options, entry.skip_bad_rows)
    ingest(files, requests_of(params, key), entry.part, replay=True)


def replay(params: "Params", key: str) -> None:
    """Response times of each request of a trace on the HDD and the SSD."""
    from cachezoo.devices.replaying import write_responses
    from cachezoo.traces.store import read_trace

    category = entry_of(params, key).category
    trace = read_trace(paths.requests(category, key))
    write_responses(trace, params.device, paths.responses(category, key), paths.replay_record(category, key))


def calibrate(params: "Params") -> None:
    """Models fitted to measured response times; with modelled ones it says that nothing was measured."""
    from cachezoo.devices.calibrating import calibrate_responses
    from cachezoo.io import atomic_dir

    with atomic_dir(paths.DEVICES) as folder:
        calibrate_responses(params, folder)


def label_benefit(params: "Params", key: str) -> None:
    """What the oracle caches did with each request of a trace, from that trace alone."""
    from cachezoo.labels.benefit import label_requests

    category = entry_of(params, key).category
    label_requests(
        paths.requests(category, key), paths.responses(category, key), params.label.benefit,
        paths.labels("benefit", category, key),
    )  # fmt: skip


def features(params: "Params", key: str) -> None:
    """Raw inputs of the two LSTMs for each request of a trace, from it and earlier ones."""
    from cachezoo.features.table import feature_requests

    category = entry_of(params, key).category
    feature_requests(
        paths.requests(category, key), params.features.sequence, params.label.benefit, paths.features(category, key)
    )


def label_episodes(params: "Params", key: str) -> None:
    """Baleen's episodes and OPT labels of a trace, from that trace alone."""
    from cachezoo.flash_cache.problem import label_of
    from cachezoo.labels.episode_file import label_requests

    category = entry_of(params, key).category
    requests, path = paths.requests(category, key), paths.labels("episodes", category, key)
    label_requests(requests, label_of(params.label.episodes, category), params.policy.flash, path)


def label_streams(params: "Params", key: str) -> None:
    """FIOS's features and the lifetimes of the chunks that a trace writes, from that trace alone."""
    from cachezoo.labels.streams import label_trace

    path = paths.labels("streams", entry_of(params, key).category, key)
    label_trace(requests_of(params, key), path, params.label.streams)


def evaluate(params: "Params", category: str) -> "CategoryMetrics":
    """The page caches of a category on its test traces."""
    from cachezoo.questions.page.category import Settings, evaluate_category

    return evaluate_category(Settings.of(params, category), category)


def evaluate_workload(params: "Params") -> "WorkloadMetrics":
    """The classifier and its baseline on the test traces and on mixtures of them."""
    from cachezoo.zoo.workload.evaluate import evaluate_workload

    return evaluate_workload(paths.trained(f"workload.{params.model.workload.arch}"), params)


def evaluate_share(params: "Params") -> "ShareMetrics":
    """Caches that several applications share, and the choice between partitioners, on mixes of test traces."""
    from cachezoo.questions.share.stage import Settings, evaluate_share

    return evaluate_share(Settings.of(params))


def models(params: "Params") -> list[Names]:
    """A job for each model of a system that has bundles, with the folder of the requests it is of."""
    from cachezoo.zoo.admission.fit import VARIANTS
    from cachezoo.zoo.registry import SYSTEMS

    scopes = {"category": categories, "page category": page_categories, "stream category": stream_categories}
    found: list[Names] = []
    for kind, system in SYSTEMS.items():
        if system.bundling is None:
            continue
        arch = getattr(params.model, kind).arch
        suffixes = [variant.suffix for variant in VARIANTS] if kind == "admission" else [""]
        for names in scopes[system.scope](params) if system.scope in scopes else [{"category": "", "folder": ""}]:
            folder = f"{names['folder']}/{names['category']}" if names["category"] else "data/requests"
            stem = ".".join(filter(None, (kind, names["category"], arch)))
            own = {"kind": kind, "category": names["category"] or "all", "folder": folder}
            found += [{**own, "key": stem + suffix} for suffix in suffixes]
    return found


def report(params: "Params") -> None:
    """One page and its plots from stage outputs."""
    from cachezoo.report.page import write_report

    write_report(Path(), params)


def track(_: "Params") -> None:
    """MLflow runs and aliases from metrics, bundles and curves; digests into models/track.json."""
    from cachezoo.tracking.sync import track

    track(Path())


STAGES = {
    "sources": Stage(sources, takes_params=False),
    "compose": Stage(compose, takes_params=False, parts=["cachezoo.zoo.registry"]),
    "ingest": Stage(
        ingest,
        Each(
            all_traces,
            ["data.{table}.{key}"],
            ["{path}"],
            ["{folder}/{category}/{key}.parquet"],
            roots=["data/requests", "data/writes"],
        ),
    ),
    "corpus": Stage(
        "cachezoo.traces.ingest:ingest_corpus",
        Each(corpora, ["data.corpus.{key}"], ["{folder}"], ["data/corpus/{key}"]),
    ),
    "replay": Stage(
        replay,
        Each(
            traces,
            ["data.traces.{key}.category", "device"],
            ["data/requests/{category}/{key}.parquet"],
            ["data/responses/{category}/{key}.parquet", "data/replays/{category}/{key}.json"],
        ),
    ),
    "calibrate": Stage(calibrate),
    "label_benefit": Stage(
        label_benefit,
        Each(
            page_traces,
            ["data.traces.{key}.category", "label.benefit"],
            ["data/requests/{category}/{key}.parquet", "data/responses/{category}/{key}.parquet"],
            ["data/labels/benefit/{category}/{key}.parquet"],
        ),
    ),
    "features": Stage(
        features,
        Each(
            page_traces,
            ["data.traces.{key}.category", "features.sequence", "label.benefit.capacities"],
            ["data/requests/{category}/{key}.parquet"],
            ["data/features/{category}/{key}.parquet"],
        ),
    ),
    "label_episodes": Stage(
        label_episodes,
        Each(
            traces,
            ["data.traces.{key}.category", "label.episodes", "policy.flash"],
            ["data/requests/{category}/{key}.parquet"],
            ["data/labels/episodes/{category}/{key}.parquet"],
        ),
    ),
    "label_streams": Stage(
        label_streams,
        Each(
            stream_traces,
            ["data.{table}.{key}.category", "label.streams"],
            ["{folder}/{category}/{key}.parquet"],
            ["data/labels/streams/{category}/{key}.parquet"],
        ),
    ),
    "fit_workload": Stage(
        "cachezoo.zoo.workload.fit:fit_workload",
        Each(
            one_job,
            "cachezoo.zoo.workload.fit:Settings",
            ["data/requests"],
            ["models/fitted/workload/workload.{arch_workload}"],
        ),
    ),
    "judge_workload": Stage(
        "cachezoo.zoo.workload.judge:judge_workload",
        Each(
            one_job,
            "cachezoo.zoo.workload.judge:Settings",
            ["data/requests", "models/fitted/workload/workload.{arch_workload}"],
            ["models/trained/workload/workload.{arch_workload}"],
        ),
    ),
    "fit_caching": Stage(
        "cachezoo.zoo.caching.fit:fit_caching",
        Each(
            page_categories,
            "cachezoo.zoo.caching.fit:Settings",
            ["data/requests/{category}", "data/labels/benefit/{category}", "data/features/{category}"],
            ["models/fitted/caching/caching.{category}.{arch_caching}"],
        ),
    ),
    "judge_caching": Stage(
        "cachezoo.zoo.caching.judge:judge_caching",
        Each(
            page_categories,
            "cachezoo.zoo.caching.judge:Settings",
            [
                "data/requests/{category}",
                "data/responses/{category}",
                "data/labels/benefit/{category}",
                "models/fitted/caching/caching.{category}.{arch_caching}",
            ],
            ["models/trained/caching/caching.{category}.{arch_caching}"],
        ),
    ),
    "fit_reuse": Stage(
        "cachezoo.zoo.reuse.fit:fit_reuse",
        Each(
            one_job,
            "cachezoo.zoo.reuse.fit:Settings",
            ["data/requests", "data/corpus"],
            ["models/fitted/reuse/reuse.{arch_reuse}"],
        ),
    ),
    "judge_reuse": Stage(
        "cachezoo.zoo.reuse.judge:judge_reuse",
        Each(
            one_job,
            "cachezoo.zoo.reuse.judge:Settings",
            ["data/requests", "models/fitted/reuse/reuse.{arch_reuse}"],
            ["models/trained/reuse/reuse.{arch_reuse}"],
        ),
    ),
    "fit_admission": Stage(
        "cachezoo.zoo.admission.fit:fit_admission",
        Each(
            categories,
            "cachezoo.zoo.admission.fit:Settings",
            ["data/requests/{category}", "data/labels/episodes/{category}"],
            [
                "models/fitted/admission/admission.{category}.{arch_admission}",
                "models/fitted/admission/admission.{category}.{arch_admission}_block",
                "models/fitted/admission/admission.{category}.{arch_admission}_small",
            ],
        ),
    ),
    "judge_admission": Stage(
        "cachezoo.zoo.admission.judge:judge_admission",
        Each(
            categories,
            "cachezoo.zoo.admission.judge:Settings",
            [
                "data/requests/{category}",
                "models/fitted/admission/admission.{category}.{arch_admission}",
                "models/fitted/admission/admission.{category}.{arch_admission}_block",
                "models/fitted/admission/admission.{category}.{arch_admission}_small",
            ],
            [
                "models/trained/admission/admission.{category}.{arch_admission}",
                "models/trained/admission/admission.{category}.{arch_admission}_block",
                "models/trained/admission/admission.{category}.{arch_admission}_small",
            ],
        ),
    ),
    "fit_streams": Stage(
        "cachezoo.zoo.streams.fit:fit_streams",
        Each(
            stream_categories,
            "cachezoo.zoo.streams.fit:Settings",
            ["{folder}/{category}", "data/labels/streams/{category}"],
            ["models/fitted/streams/streams.{category}.{arch_streams}"],
        ),
    ),
    "judge_streams": Stage(
        "cachezoo.zoo.streams.judge:judge_streams",
        Each(
            stream_categories,
            "cachezoo.zoo.streams.judge:Settings",
            ["{folder}/{category}", "models/fitted/streams/streams.{category}.{arch_streams}"],
            ["models/trained/streams/streams.{category}.{arch_streams}"],
        ),
    ),
    "fit_virtual": Stage(
        "cachezoo.zoo.virtual.fit:fit_virtual",
        Each(
            page_categories,
            "cachezoo.zoo.virtual.fit:Settings",
            ["data/requests/{category}"],
            ["models/fitted/virtual/virtual.{category}.{arch_virtual}"],
        ),
    ),
    "judge_virtual": Stage(
        "cachezoo.zoo.virtual.judge:judge_virtual",
        Each(
            page_categories,
            "cachezoo.zoo.virtual.judge:Settings",
            ["data/requests/{category}", "models/fitted/virtual/virtual.{category}.{arch_virtual}"],
            ["models/trained/virtual/virtual.{category}.{arch_virtual}"],
        ),
    ),
    "evaluate": Stage(
        evaluate,
        Each(
            categories,
            "cachezoo.questions.page.category:Settings",
            [
                "data/requests/{category}",
                "data/responses/{category}",
                "data/labels/benefit/{category}",
                "models/trained/admission/admission.{category}.{arch_admission}",
                "models/trained/caching/caching.{category}.{arch_caching}",
                "models/trained/reuse/reuse.{arch_reuse}",
            ],
            ["metrics/page/{category}.json"],
        ),
        parts=[
            "cachezoo.zoo.admission.evaluate",
            "cachezoo.zoo.admission.record",
            "cachezoo.zoo.caching.evaluate",
            "cachezoo.zoo.caching.record",
            "cachezoo.zoo.reuse.evaluate",
            "cachezoo.zoo.reuse.record",
        ],
    ),
    "evaluate_flash": Stage(
        "cachezoo.questions.flash.stage:evaluate_flash",
        Each(
            categories,
            [
                "seed",
                "data.roles.{category}",
                "label.episodes",
                "model.admission.arch",
                "policy.flash",
            ],
            [
                "data/requests/{category}",
                "models/trained/admission/admission.{category}.{arch_admission}",
                "models/trained/admission/admission.{category}.{arch_admission}_block",
                "models/trained/admission/admission.{category}.{arch_admission}_small",
            ],
            ["metrics/flash/{category}.json"],
        ),
    ),
    "evaluate_workload": Stage(evaluate_workload, writes="metrics/workload.json"),
    "evaluate_reuse": Stage("cachezoo.zoo.reuse.evaluate:evaluate_reuse", writes="metrics/reuse.json"),
    "evaluate_streams": Stage(
        "cachezoo.zoo.streams.evaluate:evaluate_streams",
        Each(
            stream_categories,
            "cachezoo.zoo.streams.judge:Settings",
            [
                "{folder}/{category}",
                "data/labels/streams/{category}",
                "models/fitted/streams/streams.{category}.{arch_streams}",
                "models/trained/streams/streams.{category}.{arch_streams}",
            ],
            ["metrics/streams/{category}.json"],
        ),
    ),
    "evaluate_virtual": Stage(
        "cachezoo.zoo.virtual.evaluate:evaluate_virtual",
        Each(
            page_categories,
            "cachezoo.zoo.virtual.judge:Settings",
            [
                "data/requests/{category}",
                "models/fitted/virtual/virtual.{category}.{arch_virtual}",
                "models/trained/virtual/virtual.{category}.{arch_virtual}",
            ],
            ["metrics/virtual/{category}.json"],
        ),
    ),
    "evaluate_tiers": Stage(
        "cachezoo.questions.tiers.stage:evaluate_tiers",
        Each(
            page_categories,
            "cachezoo.questions.tiers.stage:Settings",
            ["data/requests/{category}"],
            ["metrics/tiers/{category}.json"],
        ),
    ),
    "evaluate_share": Stage(evaluate_share, writes="metrics/share/mixes.json"),
    "export": Stage(
        "cachezoo.bundles.export:export_model",
        Each(
            models,
            ["data.page_categories", "data.roles", "data.cycles", "export"],
            [
                "{folder}",
                "models/trained/{kind}/{key}",
                "metrics/page/{category}.json",
                "metrics/flash/{category}.json",
                "metrics/{kind}/{category}.json",
                "metrics/{kind}.json",
                "requirements.lock",
                "VERSIONS.json",
            ],
            ["models/bundles/{key}"],
        ),
        parts=[
            "cachezoo.models.forest",
            "cachezoo.zoo.admission.bundle",
            "cachezoo.zoo.caching.bundle",
            "cachezoo.zoo.caching.infer",
            "cachezoo.zoo.reuse.bundle",
            "cachezoo.zoo.reuse.metrics",
            "cachezoo.zoo.streams.bundle",
            "cachezoo.zoo.streams.metrics",
            "cachezoo.zoo.virtual.bundle",
            "cachezoo.zoo.virtual.metrics",
            "cachezoo.zoo.workload.bundle",
            "cachezoo.zoo.workload.infer",
            "cachezoo.zoo.workload.metrics",
        ],
    ),
    "report": Stage(
        report,
        parts=[
            "cachezoo.zoo.registry",
            "cachezoo.zoo.reuse.report",
            "cachezoo.questions.wear.report",
            "cachezoo.zoo.virtual.report",
            "cachezoo.zoo.workload.report",
            "cachezoo.show.formats",
            "cachezoo.show.section",
            "cachezoo.show.style",
            "cachezoo.show.table",
        ],
    ),
    "track": Stage(
        track,
        parts=[
            "cachezoo.zoo.registry",
            "cachezoo.zoo.reuse.metrics",
            "cachezoo.zoo.streams.metrics",
            "cachezoo.zoo.virtual.metrics",
            "cachezoo.zoo.workload.metrics",
        ],
    ),
}

if __name__ == "__main__":
    run(STAGES)
