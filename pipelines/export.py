"""Stage export: a verified bundle of each trained model, or the reason why there is none."""

from typing import TYPE_CHECKING

from cachezoo.bundles.export import export_model
from cachezoo.kept import Each, Names, categories, page_categories, stream_categories
from cachezoo.models import forest, onnx_gbdt, onnx_lstm
from cachezoo.stage import stage
from cachezoo.zoo.admission import bundle as admission_bundle
from cachezoo.zoo.admission.fit import VARIANTS
from cachezoo.zoo.caching import bundle as caching_bundle
from cachezoo.zoo.caching import infer as caching_infer
from cachezoo.zoo.prefetch import bundle as prefetch_bundle
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse import bundle as reuse_bundle
from cachezoo.zoo.reuse import metrics as reuse_metrics
from cachezoo.zoo.streams import bundle as streams_bundle
from cachezoo.zoo.streams import metrics as streams_metrics
from cachezoo.zoo.virtual import bundle as virtual_bundle
from cachezoo.zoo.virtual import metrics as virtual_metrics
from cachezoo.zoo.workload import bundle as workload_bundle
from cachezoo.zoo.workload import infer as workload_infer
from cachezoo.zoo.workload import metrics as workload_metrics

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

# What the registry names and this stage runs: the imports put it on the stage's list of sources.
PARTS = (
    *(forest, onnx_gbdt, onnx_lstm, admission_bundle, caching_bundle, caching_infer, prefetch_bundle),
    *(reuse_bundle, reuse_metrics, streams_bundle, streams_metrics, virtual_bundle, virtual_metrics),
    *(workload_bundle, workload_infer, workload_metrics),
)
SCOPES = {"category": categories, "page category": page_categories, "stream category": stream_categories}


def models(params: "Params") -> list[Names]:
    """A job for each model of a system that has bundles, with the folder of the requests it is of."""
    found: list[Names] = []
    for kind, system in SYSTEMS.items():
        if system.bundling is None:
            continue
        arch = getattr(params.model, kind).arch
        suffixes = [variant.suffix for variant in VARIANTS] if kind == "admission" else [""]
        for names in SCOPES[system.scope](params) if system.scope in SCOPES else [{"category": "", "folder": ""}]:
            folder = f"{names['folder']}/{names['category']}" if names["category"] else "data/requests"
            stem = ".".join(filter(None, (kind, names["category"], arch)))
            own = {"kind": kind, "category": names["category"] or "all", "folder": folder}
            found += [{**own, "key": stem + suffix} for suffix in suffixes]
    return found


EACH = Each(
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
)

if __name__ == "__main__":
    stage(export_model, EACH)()
