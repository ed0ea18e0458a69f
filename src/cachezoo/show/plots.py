"""Names of the report's files, shared with tracking, which logs the plots of a model with its run."""

from collections.abc import Sequence

PAGE = "index.html"
INPUTS = "cachezoo-inputs"  # the name of the page's meta element with the digest of what it was made from
CONFUSION = "confusion.png"
CARRIED = "carried.png"
STREAMS = "streams.png"
VIRTUAL = "virtual.png"


def trace_plot(trace: str) -> str:
    """Load over time and hit ratio over capacity of a trace."""
    return f"trace.{trace}.png"


def policies_plot(category: str) -> str:
    """Policies on the category's test traces, in the page cache."""
    return f"policies.{category}.png"


def flash_plot(category: str) -> str:
    """Policies on the category's test traces, in the flash cache."""
    return f"flash.{category}.png"


def model_plot(model_id: str) -> str:
    """Learning curve and calibration of a model."""
    return f"model.{model_id}.png"


def plots_of(model_id: str, category: str | None, more: Sequence[str] = ()) -> list[str]:
    """Plots that say something of a model, with `more` of its system; which there are depends on what was measured."""
    plots = [model_plot(model_id)]
    if category is not None:
        plots += [policies_plot(category), flash_plot(category)]
    return [*plots, *more]
