"""Where each stage's files lie, relative to the project's root."""

from pathlib import Path

PARAMS = Path("params.yaml")
TRACES = Path("data/traces.json")
"""What `data` of params.yaml holds: in dvc.lock its hash takes the place of all its values."""
REQUESTS = Path("data/requests")
WRITES = Path("data/writes")
"""Canonical requests of traces that are for streams alone, as `requests` those of traces for caches."""
SOURCES = Path("data/sources")
BUNDLES = Path("models/bundles")
FITTED = Path("models/fitted")
TRAINED = Path("models/trained")
TRACK = Path("models/track.json")
SUMMARY = Path("models/summary.json")
METRICS = Path("metrics")
REPORT = Path("report")
DEVICES = Path("models/devices")


def requests(category: str, trace: str) -> Path:
    """Canonical requests of a trace (stage ingest)."""
    return REQUESTS / category / f"{trace}.parquet"


def corpus(category: str) -> Path:
    """Folder of the canonical requests of a category's corpus, `<key>.parquet` each (stage corpus)."""
    return Path("data/corpus") / category


def responses(category: str, trace: str) -> Path:
    """`t_hdd_us` and `t_ssd_us` of each request (stage replay)."""
    return Path("data/responses") / category / f"{trace}.parquet"


def replay_record(category: str, trace: str) -> Path:
    """Where a trace's response times come from (stage replay)."""
    return Path("data/replays") / category / f"{trace}.json"


def labels(oracle: str, category: str, trace: str) -> Path:
    """Labels of a trace by one oracle, ``benefit`` or ``episodes``, or of its chunks, ``streams``."""
    return Path("data/labels") / oracle / category / f"{trace}.parquet"


def features(category: str, trace: str) -> Path:
    """Model inputs of a trace (stage features)."""
    return Path("data/features") / category / f"{trace}.parquet"


def fitted(model_id: str, root: Path = FITTED) -> Path:
    """Folder of a fitted model, before it is judged (stages fit_*)."""
    return root / _kind(model_id) / model_id


def trained(model_id: str, root: Path = TRAINED) -> Path:
    """Folder of a fitted model with its verdict (stages judge_*)."""
    return root / _kind(model_id) / model_id


def metrics(category: str) -> Path:
    """Metrics of a category's test traces (stage evaluate)."""
    return METRICS / "page" / f"{category}.json"


def overall_metrics(system: str) -> Path:
    """Metrics of a system whose model is of all categories (stage evaluate_<system>)."""
    return METRICS / f"{system}.json"


def flash_metrics(category: str) -> Path:
    """Metrics of a category's test traces in a flash cache (stage evaluate_flash)."""
    return METRICS / "flash" / f"{category}.json"


def _kind(model_id: str) -> str:
    """The system of a model: its folder is one output of one stage."""
    return model_id.partition(".")[0]


def bundle(model_id: str) -> Path:
    """Folder of an exported bundle."""
    return BUNDLES / model_id
