"""Where each stage's files lie, relative to the project's root."""

from pathlib import Path

PARAMS = Path("params.yaml")
SOURCES = Path("data/sources")
BUNDLES = Path("models/bundles")
TRACK = Path("models/track.json")
METRICS = Path("metrics")
REPORT = Path("report")
DEVICES = Path("models/devices")


def requests(category: str, trace: str) -> Path:
    """Canonical requests of a trace (stage ingest)."""
    return Path("data/requests") / category / f"{trace}.parquet"


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


def fitted(model_id: str) -> Path:
    """Folder of a fitted model, before it is judged (stages fit_*)."""
    return Path("models/fitted") / model_id


def trained(model_id: str) -> Path:
    """Folder of a fitted model with its verdict (stages judge_*)."""
    return Path("models/trained") / model_id


def metrics(category: str) -> Path:
    """Metrics of a category's test traces (stage evaluate)."""
    return METRICS / f"{category}.json"


def flash_metrics(category: str) -> Path:
    """Metrics of a category's test traces in a flash cache (stage evaluate_flash)."""
    return METRICS / "flash" / f"{category}.json"


def bundle(model_id: str) -> Path:
    """Folder of an exported bundle."""
    return BUNDLES / model_id
