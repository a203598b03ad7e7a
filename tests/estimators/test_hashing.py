import numpy as np

from lacunet.estimators import _rows


def test_rows_are_hashed_alike_in_blocks_of_any_size(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randn(100, 3), rng.randint(3, size=100)
    X[::7] = np.nan
    whole = _rows.canonical_order(X, y)
    monkeypatch.setattr(_rows, "_ROWS_TO_HASH", 9)
    np.testing.assert_array_equal(_rows.canonical_order(X, y), whole)
