"""What MLflow says of its database, and its pages."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

from cachezoo.errors import CachezooError
from cachezoo.io import held
from cachezoo.tracking.database import DATABASE, _make, opened
from cachezoo.tracking.sync import _all_pages


def test_only_what_is_of_the_database_is_answered_by_deleting_it(tmp_path):
    refused = MlflowException("Metric value must be a number", error_code=INVALID_PARAMETER_VALUE)
    with pytest.raises(CachezooError, match=r"MLflow refuses .*must be a number") as caught, opened(tmp_path):
        raise refused
    assert "delete" not in str(caught.value)
    old = MlflowException("Detected out-of-date database schema (found version a, but expected b)")
    with pytest.raises(CachezooError, match="delete it and run `cachezoo track sync`"), opened(tmp_path):
        raise old


def test_all_pages_are_asked_for():
    class Page(list):
        token = None

    pages = {None: Page([1, 2]), "a": Page([3]), "b": Page()}
    pages[None].token, pages["a"].token = "a", "b"
    assert _all_pages(pages.__getitem__) == [1, 2, 3]


def test_a_database_is_made_whole_or_not_at_all(tmp_path, monkeypatch):
    def cut(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mlflow.tracking.MlflowClient.search_experiments", cut)
        with pytest.raises(KeyboardInterrupt), opened(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []
    with opened(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [DATABASE]


def test_a_database_that_another_has_made_meanwhile_stays(tmp_path):
    path = tmp_path / DATABASE
    with ThreadPoolExecutor(1) as pool:
        with held(tmp_path):
            waiting = pool.submit(_make, path)
            path.write_bytes(b"another's")
        waiting.result()
    assert path.read_bytes() == b"another's"
