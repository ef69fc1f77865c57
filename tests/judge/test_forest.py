"""A forest as arrays answers as scikit-learn's does."""

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from judge.train import as_arrays


def test_arrays_predict_as_the_model():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 5)).astype(np.float32)
    target = table[:, 0] * table[:, 1] + (table[:, 2] > 0)
    model = ExtraTreesRegressor(12, min_samples_leaf=3, random_state=0).fit(table, target)
    fresh = rng.normal(size=(40, 5)).astype(np.float32)
    np.testing.assert_allclose(as_arrays(model).predict(fresh), model.predict(fresh), rtol=1e-4)
