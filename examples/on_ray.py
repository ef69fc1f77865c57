"""Clusters of a Ray dataset: the rows are drawn and labelled where they are."""

import pickle
from typing import TYPE_CHECKING

import pandas as pd

import coterie
from coterie.estimators.drawing import draw, merge, survey

if TYPE_CHECKING:
    from ray.data import Dataset


def fit(table: "Dataset", columns: list[str]) -> coterie.AMCP:
    def surveyed(batch: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"survey": [pickle.dumps(survey(batch[columns]))]})

    surveys = table.map_batches(surveyed, batch_format="pandas", batch_size=None)
    sample = draw(merge([pickle.loads(row["survey"]) for row in surveys.take_all()]))
    return coterie.AMCP().fit_drawn(sample.rows, sample.n_rows)


def label(table: "Dataset", columns: list[str], model: coterie.AMCP) -> "Dataset":
    predictor = model.predictor()

    def labelled(batch: pd.DataFrame) -> pd.DataFrame:
        return batch.assign(cluster=predictor.predict(batch[columns]))

    return table.map_batches(labelled, batch_format="pandas")
