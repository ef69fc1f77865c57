"""A data frame with a missing value, filled and clustered in one pipeline.

Run it with `python examples/plot_pipeline.py picture.png`. The columns have different units
and need no scaling: the default model scales them.
"""

import sys

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import coterie
from coterie.plots import plot_clusters

CENTRES = {"bill_mm": (38.6, 45.6, 51.2), "mass_kg": (3.7, 5.9, 3.6)}
WIDTHS = {"bill_mm": 1.1, "mass_kg": 0.2}

random = np.random.default_rng(4)
kind = np.repeat([0, 1, 2], [130, 110, 70])
birds = pd.DataFrame(
    {name: random.normal(np.take(CENTRES[name], kind), WIDTHS[name]) for name in CENTRES}
)
birds.loc[7, "mass_kg"] = None

pipeline = make_pipeline(SimpleImputer(), coterie.AMCP())
groups = pd.Series(pipeline.fit_predict(birds), name="group")

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "pipeline.png"
    filled = pipeline[:-1].transform(birds)
    plot_clusters(filled, pipeline[-1].clustering_, names=list(birds)).savefig(target)
    print(birds.groupby(groups).mean().round(1))
