"""Stage sources: the source files that each stage runs, by hash; the one stage beside compose that reads no params."""

from pathlib import Path

from cachezoo import paths
from cachezoo.closure import write_sources
from cachezoo.stage import guarded

if __name__ == "__main__":
    with guarded("sources"):
        write_sources(Path(), paths.SOURCES)
