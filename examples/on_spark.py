"""Clusters of a Spark table: the rows are drawn and labelled where they are."""

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd
from pyspark.sql.types import LongType, StructField, StructType

import coterie
from coterie.estimators.drawing import draw, merge, survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fit(table: "DataFrame", columns: list[str]) -> coterie.AMCP:
    def surveyed(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        surveys = [survey(batch[columns]) for batch in batches]
        if surveys:  # a partition may be empty
            yield pd.DataFrame({"survey": [pickle.dumps(merge(surveys))]})

    rows = table.mapInPandas(surveyed, "survey binary").collect()
    sample = draw(merge([pickle.loads(row.survey) for row in rows]))
    return coterie.AMCP().fit_drawn(sample.rows, sample.n_rows)


def label(table: "DataFrame", columns: list[str], model: coterie.AMCP) -> "DataFrame":
    predictor = model.predictor()

    def labelled(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield batch.assign(cluster=predictor.predict(batch[columns]))

    schema = StructType([*table.schema.fields, StructField("cluster", LongType())])
    return table.mapInPandas(labelled, schema)
