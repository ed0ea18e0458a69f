"""Whether LightGBM's training over two Dask workers gives the forest of one machine: it does not.

`python benchmarks/forests_apart.py` prints sha256 of the trees: here, of one worker, and of two workers twice, which
may also differ from each other.
"""

import hashlib
from typing import Any

import dask.array as da
import lightgbm as lgb
import numpy as np
from distributed import Client, LocalCluster

ROWS, COLUMNS, WORKERS = 20_000, 8, 2
SETTINGS = {
    "n_estimators": 30, "random_state": 1, "n_jobs": 1, "verbosity": -1, "deterministic": True, "force_row_wise": True,
}  # fmt: skip


def digest(model: Any) -> str:  # noqa: ANN401 - lightgbm has no types
    """Of the trees alone: what follows them in the text are settings."""
    return hashlib.sha256(model.booster_.model_to_string().split("\nparameters")[0].encode()).hexdigest()[:12]


def main() -> None:
    """Train on the same rows, which lie on one worker or half on each."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    targets = rows[:, 0] * rows[:, 1] + rng.normal(size=ROWS) > 0
    print("here", digest(lgb.LGBMClassifier(**SETTINGS).fit(rows, targets)))
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            places = list(client.scheduler_info()["workers"])
            for count in (1, WORKERS, WORKERS):
                own = []
                for values in (rows, targets):
                    blocks = da.from_array(values, chunks=(ROWS // count, *values.shape[1:])).blocks
                    own.append(da.concatenate([client.persist(blocks[k], workers=[places[k]]) for k in range(count)]))
                forest = lgb.DaskLGBMClassifier(client=client, **SETTINGS).fit(*own)
                print(count, "of Dask's workers" if count > 1 else "of Dask's workers alone", digest(forest))


if __name__ == "__main__":
    main()
