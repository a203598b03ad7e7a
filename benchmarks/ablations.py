"""Ours with one part of the recipe left out, for ``benchmarks.tables --without``.

Each is our estimator with other parameters, or with numbers of the recipe or private
functions of the estimators that are changed as long as it is fitted.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from sklearn.pipeline import make_pipeline

from benchmarks.table_methods import METHODS, OURS, Frame, Method, make_lacunet
from lacunet import IncompleteGaussianMixture
from lacunet.estimators import _base, _fit, _views
from lacunet.estimators._recipe import RECIPE


def change_recipe(**numbers: Any) -> AbstractContextManager[Any]:
    """Change numbers of the recipe, for all who have imported it."""
    return patch.dict(vars(RECIPE), vars(replace(RECIPE, **numbers)))


@contextmanager
def keep_view(place: int) -> Iterator[None]:
    """Give all networks to one of the two views; tables without numbers have one."""
    build = _base.build_views

    def build_one(setting: Any, *rows: Any) -> _views.ViewEnsemble:
        times = 2 if setting.n_numeric else 1
        names = ("n_networks", "n_networks_of_many")
        with change_recipe(**{name: times * getattr(RECIPE, name) for name in names}):
            views = list(build(setting, *rows))
        return _views.ViewEnsemble([views[min(place, len(views) - 1)]])

    with patch.object(_base, "build_views", build_one):
        yield


@contextmanager
def leave_out_skip() -> Iterator[None]:
    """Build networks without a linear skip, and train them as those that have one."""
    build = _views.BodyShape.build_over

    def build_over(body: _views.BodyShape, *given: Any) -> Any:
        networks = build(replace(body, skip=False), *given)
        networks.first.variance_gradient = not body.skip
        return networks

    with patch.object(_views.BodyShape, "build_over", build_over):
        yield


def leave_out_weights() -> AbstractContextManager[Any]:
    """Weigh the views alike."""

    def even(task: _fit.NetworkTask) -> list[float]:
        return [1.0 / len(task.parts)] * len(task.parts)

    return patch.object(_fit.NetworkTask, "choose_view_weights", even)


def ablate(
    change: Callable[[], AbstractContextManager[Any]] = nullcontext, **parameters: Any
) -> Method:
    """Return our method with other parameters, or with something changed."""

    def make(task: str, words: list[str]) -> Any:
        return make_lacunet(task, words).set_params(**parameters)

    return replace(METHODS[OURS], make=make, change=change)


def make_filled(task: str, words: list[str]) -> Any:
    frame = Frame(words, strings=True, fill=True)
    return make_pipeline(frame, make_lacunet(task, words))


# As many bins of equal weight as there are bins otherwise, and no cut by the target.
QUANTILES = {"leaf_rows": 10**9, "quantiles": RECIPE.leaves + RECIPE.quantiles}
WITHOUT = {
    "bins": ablate(partial(keep_view, 0)),
    "values": ablate(partial(keep_view, 1)),
    "weights": ablate(leave_out_weights),
    "skip": ablate(leave_out_skip),
    "bin-edges-by-target": ablate(partial(change_recipe, **QUANTILES)),
    "hiding": ablate(mask_augmentation=0.0),
    "annealing": ablate(partial(change_recipe, anneal=0.0)),
    "ensemble": ablate(n_networks=2),  # one of each view
    "classes": ablate(partial(change_recipe, classes=1)),
    "indicators": ablate(indicator=False),
    "quantile-scales": ablate(scale="standard"),
    # Means instead, with indicators; "missing" is a category.
    "expectation": replace(METHODS[OURS], make=make_filled),
    # One view of values under the paper's three diagonal components.
    "density-choice": ablate(density=IncompleteGaussianMixture(3)),
}
