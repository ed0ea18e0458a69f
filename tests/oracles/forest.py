"""Naive scores of LightGBM's model text: each tree is walked by the lines of its text, row by row."""

import numpy as np
import numpy.typing as npt


def naive_forest(text: str, rows: npt.NDArray[np.float32]) -> list[float]:
    """Sum of the leaves that each row reaches, in the order of the trees."""
    scores = [0.0] * len(rows)
    for part in text.partition("\nend of trees\n")[0].split("\n\nTree=")[1:]:
        lines = dict(line.split("=", 1) for line in part.splitlines()[1:] if line)
        values = {name: line.split() for name, line in lines.items()}
        for i, row in enumerate(rows):
            node = 0 if values["split_feature"] else -1
            while node >= 0:
                value = float(row[int(values["split_feature"][node])])
                side = "left_child" if value <= float(values["threshold"][node]) else "right_child"
                node = int(values[side][node])
            scores[i] += float(values["leaf_value"][-node - 1])
    return scores
