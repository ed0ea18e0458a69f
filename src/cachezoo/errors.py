"""Typed errors. Each message is one line: it names the file, the row or key, and the mend."""


class CachezooError(Exception):
    """Base of every error that cachezoo raises on purpose."""


class ConfigError(CachezooError):
    """conf/, params.yaml or an argument holds something that cannot be used."""


class TraceError(CachezooError):
    """A trace file cannot be read or holds rows that no trace can have."""


class CaptureError(CachezooError):
    """A capture cannot start, lost events, or was interrupted."""


class TrainingError(CachezooError):
    """A model cannot be trained on what it was given."""


class BundleError(CachezooError):
    """A bundle is damaged, unknown, or refused by the writer."""


def no_trace(category: str, role: str) -> str:
    """What a stage says of a category that has no trace of a role it needs; the report of `trace add` foretells it."""
    add = f"cachezoo trace add FILE --category {category} --role {role}"
    return f"conf/matrix.yaml: category {category} has no {role} trace; add one: {add}"
