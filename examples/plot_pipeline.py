"""A data frame with a gap, scaled and clustered in one pipeline.

Run it with `python examples/plot_pipeline.py picture.png`. The columns have units of their own; the
shipped models want clusters about 0.25 wide, so the pipeline scales first.
"""

import sys

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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

pipeline = make_pipeline(SimpleImputer(), StandardScaler(), coterie.AMCP())
groups = pd.Series(pipeline.fit_predict(birds), name="group")

if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "pipeline.png"
    scaled = pipeline[:-1].transform(birds)
    names = [f"{name}, scaled" for name in birds]
    plot_clusters(scaled, pipeline[-1].clustering_, names=names).savefig(target)
    print(birds.groupby(groups).mean().round(1))
