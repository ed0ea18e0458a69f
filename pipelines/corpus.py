"""Stage corpus: the corpus's raw traces to canonical requests with dense page ids."""

from cachezoo.kept import Each, corpora
from cachezoo.stage import stage
from cachezoo.traces.ingest import ingest_corpus

EACH = Each(corpora, ["data.corpus.{key}"], ["{folder}"], ["data/corpus/{key}"])

if __name__ == "__main__":
    stage(ingest_corpus, EACH)()
