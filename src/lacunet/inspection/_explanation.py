"""Why a model predicts what it predicts for one row: Shapley values without a sample.

A coalition of columns is worth what the model predicts if the others are missing, which
it can answer from its own density: no background rows are needed.
"""

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from lacunet._text import join_words, shorten, show_count, show_score
from lacunet._validation import check_positive_int
from lacunet.estimators import EncodedModel, read_table
from lacunet.missingness import Table, as_table, find_observed

# Of so many observed columns all coalitions are predicted: 1,024, in half a second.
_MOST_EXACT = 10
_ROWS_AT_ONCE = 4096  # coalitions
_LARGEST_WHOLE = 1e12  # number that is shown with all its digits


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each value of a row adds to the prediction of a model.

    Attributes
    ----------
    names : tuple of str
        Names of all columns; ``"x0"``, ``"x1"``, … in an array.
    values : tuple
        The cells of the row as they are in the table; None where it is missing.
    observed : ndarray of bool of shape (n_columns,)
        Which of them the model knows. A category that was not in training is not
        missing, but nothing is known of it.
    contributions : ndarray of shape (n_columns,)
        What each value adds to the prediction, in its unit, or in probability for a
        classifier; 0 for what is not observed. They sum to ``prediction - base``.
    errors : ndarray of shape (n_columns,)
        Their standard errors by the sampling of permutations; 0 if ``exact``.
    base : float
        The prediction if nothing is known but which values are missing; moved by what
        the two ways of ``propagate`` differ for the row itself, if other coalitions are
        predicted in the other one.
    prediction : float
        The prediction for the row: that of ``predict`` or ``predict_proba``.
    target : object
        The class whose probability it is about, the index of the output of a regressor
        with several, else None.
    task : {"classification", "regression"}
        What the model predicts.
    exact : bool
        Whether all coalitions of columns were predicted, and not a sample of them.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    observed: np.ndarray
    contributions: np.ndarray
    errors: np.ndarray
    base: float
    prediction: float
    target: Any
    task: str
    exact: bool

    @property
    def missing(self) -> list[str]:
        """Names of the columns whose value is missing in the row."""
        pairs = zip(self.names, self.values, strict=True)
        return [name for name, value in pairs if value is None]

    @property
    def unknown(self) -> list[str]:
        """Names of the columns with a value that the model knows nothing of."""
        triples = zip(self.names, self.values, self.observed, strict=True)
        return [name for name, value, seen in triples if value is not None and not seen]

    def list_largest(self, n: int = 10) -> list[tuple[str, str, float, float | None]]:
        """Return the largest contributions, and the sum of the others as the last.

        Parameters
        ----------
        n : int, default=10
            Number of columns.

        Returns
        -------
        list of tuple
            Name, value as text, contribution and standard error of each column. The
            others together have no value, and no error.
        """
        ranked = np.argsort(-np.abs(self.contributions), kind="stable")
        ranked = ranked[self.observed[ranked]]
        shown = ranked if len(ranked) <= n + 1 else ranked[:n]  # never one other
        lines: list[tuple[str, str, float, float | None]] = [
            (
                self.names[i],
                self.show_value(i),
                float(self.contributions[i]),
                float(self.errors[i]),
            )
            for i in shown
        ]
        if rest := ranked[len(shown) :].tolist():
            total = float(self.contributions[rest].sum())
            lines.append((f"{len(rest):,} other columns", "", total, None))
        return lines

    def show(self, number: float, *, sign: bool = False) -> str:
        """Return a number with as many digits as the largest contribution needs.

        Parameters
        ----------
        number : float
            A contribution, the base or the prediction.
        sign : bool, default=False
            Whether a positive number has a plus sign.
        """
        largest = float(np.abs(self.contributions).max(initial=0.0))
        largest = largest or max(abs(self.base), abs(self.prediction)) or 1.0
        digits = 2 - math.floor(math.log10(largest))
        form = f",.{max(0, digits)}f" if digits <= 6 else ".3g"
        return show_score(number, f"{'+' if sign else ''}{form}")

    def show_value(self, column: int) -> str:
        """Return a cell of the row as text, a dash where it is missing.

        Parameters
        ----------
        column : int
            Index of the column.
        """
        value = self.values[column]
        if value is None:
            return "\N{EN DASH}"
        if isinstance(value, float):
            whole = value.is_integer() and abs(value) < _LARGEST_WHOLE
            return f"{value:.0f}" if whole else f"{value:.6g}"
        return shorten(str(value).removesuffix(" 00:00:00"))  # of a date

    @property
    def subject(self) -> str:
        """What is explained, in words."""
        if self.target is None:
            return "prediction"
        if self.task == "regression":
            return f"prediction of output {self.target}"
        return f"probability of {self.target!r}"

    def __str__(self) -> str:
        """Return the contributions as lines, the largest first."""
        lines = self.list_largest()
        total = show_count(int(self.observed.sum()), "observed value")
        cells = [f"{n} = {value}" if value else n for n, value, *_ in lines]
        width = max(map(len, cells), default=0)
        text = [
            f"{self.subject}: {self.show(self.prediction)} "
            f"({self.show(self.base)} if none of {total} were known)"
        ]
        for cell, (*_, contribution, error) in zip(cells, lines, strict=True):
            shown = f"  {cell:{width}}  {self.show(contribution, sign=True)}"
            text.append(shown + (f" ± {self.show(error)}" if error else ""))
        for what, names in (("missing", self.missing), ("unknown", self.unknown)):
            text += [f"  {what}: {join_words(names)}"] if names else []
        return "\n".join(text)


def explain_row(
    model: Any,
    x: Any,
    *,
    target: Any = None,
    n_permutations: int = 32,
    random_state: Any = 0,
) -> Explanation:
    """Measure what each observed value of a row adds to its prediction.

    These are Shapley values: a value is worth what it adds to the prediction when it
    becomes known after some of the others, in the mean over all orders in which they
    may become known. What is not known yet is missing, so the model takes its
    conditional distribution given what is known: of two columns that depend on each
    other both are worth something, even if the model needs only one. Which values are
    missing in the row is known from the start, also to a model for which that is a
    sign; hiding a value does not look like its being missing.

    Parameters
    ----------
    model : LacunetClassifier, LacunetRegressor or LacunetRBFClassifier
        A fitted model. It is not changed.
    x : array-like or frame of one row
        With the columns of training, and missing values.
    target : object, default=None
        The class whose probability is explained, the predicted one by default; or the
        index of the output of a regressor with several, which has no default.
    n_permutations : int, default=32
        Number of orders that are sampled, in pairs of an order and its reverse, if more
        than 10 values are observed; at least 4 are. Otherwise all coalitions are
        predicted. A prediction is made for each column of each order: 30 columns take
        some seconds, a thousand some minutes. Four times as many orders halve the
        errors.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.

    Returns
    -------
    Explanation
        Its contributions sum to the difference between the prediction and the base.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.inspection import explain_row
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 4)
    >>> y = 10 * X[:, 0] - 10 * X[:, 1]
    >>> X[rng.rand(300, 4) < 0.1] = np.nan
    >>> model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
    >>> explanation = explain_row(model.fit(X, y), [2.0, 1.0, 0.5, np.nan])
    >>> explanation.exact, explanation.missing
    (True, ['x3'])
    >>> explanation.contributions[:2].round(-1)
    array([ 20., -10.])
    >>> total = explanation.prediction - explanation.base
    >>> bool(np.isclose(explanation.contributions.sum(), total))
    True
    """
    check_positive_int(n_permutations, "n_permutations")
    encoded = EncodedModel(model)
    table = _read_row(model, x)
    if isinstance(table, np.ndarray):
        row, cells = encoded.encode(table), [*table[0]]
    else:
        row = encoded.encode(table.to_native())
        cells = [series.to_list()[0] for series in table.iter_columns()]
    whole = encoded.predict(row)[0]  # (outputs,)
    output, target = _find_output(model, whole, target)
    observed = encoded.observed(row)[0].cpu().numpy()
    places = np.flatnonzero(observed)
    # All coalitions are predicted alike, from draws if the smallest one is: or what
    # differs between the two ways would count for the columns that decide on it.
    nothing = encoded.hide(row, torch.ones(1, len(observed), dtype=torch.bool))
    way = "sample" if bool(encoded.needs_draws(nothing)) else "expectation"
    alike = EncodedModel(copy.copy(model).set_params(propagate=way))
    moved = float(whole[output] - alike.predict(row)[0, output])

    def predict(coalitions: np.ndarray) -> np.ndarray:
        """Return predictions with only these of the observed columns, (coalitions,)."""
        hidden = np.ones((len(coalitions), len(observed)), dtype=bool)
        hidden[:, places] = ~coalitions
        predictions = np.empty(len(coalitions))
        for start in range(0, len(coalitions), _ROWS_AT_ONCE):
            block = torch.as_tensor(hidden[start : start + _ROWS_AT_ONCE])
            rows = encoded.hide(row.expand(len(block), -1), block.to(row.device))
            predictions[start : start + len(block)] = alike.predict(rows)[:, output]
        predictions += moved
        # Exactly: other blocks of rows are rounded otherwise.
        predictions[coalitions.all(1)] = whole[output]
        return predictions

    exact = len(places) <= _MOST_EXACT
    if exact:
        found, base = _enumerate(predict, len(places))
        errors = np.zeros(len(places))
    else:
        random = check_random_state(random_state)
        found, errors, base = _sample(predict, len(places), n_permutations, random)
    contributions, of_all = np.zeros((2, len(observed)))
    contributions[places], of_all[places] = found, errors
    return Explanation(
        tuple(encoded.names),
        tuple(map(_read_cell, cells)),
        observed,
        contributions,
        of_all,
        base,
        float(whole[output]),
        target,
        "classification" if is_classifier(model) else "regression",
        exact,
    )


def _enumerate(predict: Any, n: int) -> tuple[np.ndarray, float]:
    """Return Shapley values of ``n`` columns from all coalitions, and the base."""
    bits = 1 << np.arange(n)
    codes = np.arange(2**n)
    coalitions = (codes[:, None] & bits) > 0  # (2ⁿ, n)
    values = predict(coalitions)
    sizes = coalitions.sum(1)
    found = np.empty(n)
    for column, bit in enumerate(bits):
        without = codes[~coalitions[:, column]]
        weights = [1 / (n * math.comb(n - 1, size)) for size in sizes[without]]
        found[column] = np.dot(weights, values[without | bit] - values[without])
    return found, float(values[0])


def _sample(
    predict: Any, n: int, n_permutations: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return Shapley values from orders and their reverses, errors, and the base."""
    n_pairs = max(2, math.ceil(n_permutations / 2))
    orders = np.stack([random.permutation(n) for _ in range(n_pairs)])
    orders = np.stack([orders, orders[:, ::-1]], 1).reshape(-1, n)
    ranks = orders.argsort(1)  # when each column becomes known
    coalitions = ranks[:, None] < np.arange(n + 1)[:, None]  # (orders, n + 1, n)
    distinct, inverse = np.unique(
        np.packbits(coalitions.reshape(-1, n), axis=1), axis=0, return_inverse=True
    )
    values = predict(np.unpackbits(distinct, axis=1, count=n).astype(bool))
    values = values[inverse].reshape(len(orders), n + 1)
    steps = np.take_along_axis(np.diff(values), ranks, 1)  # (orders, n)
    pairs = steps.reshape(n_pairs, 2, n).mean(1)
    errors = pairs.std(0, ddof=1) / math.sqrt(n_pairs)
    return steps.mean(0), errors, float(values[0, 0])


def _read_row(model: Any, x: Any) -> Table:
    """Return one row as a table with the columns of training."""
    if isinstance(x, (list, tuple, np.ndarray)) and np.ndim(x) == 1:
        cells = np.array(x) if isinstance(x, np.ndarray) else np.array(x, dtype=object)
        x = cells[None]
    elif getattr(x, "ndim", 2) == 1:
        msg = (
            f"Got x of type {type(x).__name__}, but expected a frame of one row, which "
            f"has the types of its columns: X.iloc[[0]], not X.iloc[0]."
        )
        raise TypeError(msg)
    table = as_table(read_table(model, x, reset=False))
    if table.shape[0] != 1:
        msg = (
            f"Got x with {table.shape[0]} rows, but expected one: call explain_row for "
            f"each of them."
        )
        raise ValueError(msg)
    return table


def _find_output(model: Any, whole: np.ndarray, target: Any) -> tuple[int, Any]:
    """Return the index of the output that is explained, and what it is called."""
    if is_classifier(model):
        classes = model.classes_.tolist()
        if target is None:
            return int(whole.argmax()), classes[whole.argmax()]
        if target not in classes:
            msg = f"Got target={target!r}, but expected one of the classes {classes}."
            raise ValueError(msg)
        index = classes.index(target)
        return index, classes[index]
    n = len(whole)
    if target is None and n == 1:
        return 0, None
    if isinstance(target, bool) or target not in range(n):
        msg = (
            f"Got target={target!r}, but expected the index of one of {n} outputs of "
            f"the regressor."
        )
        raise ValueError(msg)
    return int(target), int(target)


def _read_cell(cell: Any) -> Any:
    """Return a cell as a Python value, None if it is missing."""
    if not find_observed(np.fromiter([cell], dtype=object))[0]:
        return None
    if isinstance(cell, np.datetime64) and isinstance(cell.item(), int):
        cell = cell.astype("M8[us]")  # Python's dates have no nanoseconds
    return cell.item() if isinstance(cell, np.generic) else cell
