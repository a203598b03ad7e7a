"""Groups of methods that can't be told apart."""

from collections.abc import Iterator, Mapping, Sequence

from reproduction.statistics._pairs import PairTests
from reproduction.statistics._ranks import MeanRank

Neighbours = Mapping[str, set[str]]


def cliques(ranks: Sequence[MeanRank], tests: PairTests) -> tuple[tuple[str, ...], ...]:
    """Find the largest groups in which no method differs from another.

    They are the bars of a critical-difference plot. "Not different" does not pass from
    pair to pair, so groups overlap, and a group may lack a method whose rank lies
    between those of its members.

    Parameters
    ----------
    ranks : sequence of MeanRank
        From ``rank_methods``.
    tests : PairTests
        From ``compare_pairs`` over all pairs of the same methods.

    Returns
    -------
    tuple of tuples of str
        Groups of two methods or more that are in no larger group, each from the best
        rank to the worst, the group with the best ranks first.

    Examples
    --------
    >>> from reproduction.statistics import Scores, cliques, compare_pairs, rank_methods
    >>> values = [[1, 8, 9], [2, 8, 7], [1, 7, 8], [2, 9, 8], [3, 9, 10], [1, 9, 7]]
    >>> values += [[2, 7, 9], [3, 8, 9]]
    >>> scores = Scores(list("pqrstuvw"), list("abc"), values)
    >>> ranks = rank_methods(scores, higher_is_better=True)
    >>> cliques(ranks, compare_pairs(scores))
    (('c', 'b'),)
    """
    methods = [method for method, _ in ranks]
    alike = _alike(methods, tests)
    place = {method: i for i, method in enumerate(methods)}
    groups = [
        sorted(group, key=place.__getitem__)
        for group in _maximal(set(), set(methods), set(), alike)
        if len(group) > 1
    ]
    return tuple(map(tuple, sorted(groups, key=lambda g: [place[m] for m in g])))


def _alike(methods: Sequence[str], tests: PairTests) -> Neighbours:
    """Return which methods each method does not differ from."""
    compared = {frozenset(pair[:2]) for pair in tests.pairs}
    expected = {frozenset((a, b)) for a in methods for b in methods if a != b}
    if compared != expected:
        msg = (
            f"Got {len(compared)} pairs over other methods than the {len(methods)} "
            f"with ranks, but expected all pairs of them. Take both from the same "
            f"scores, and compare_pairs without control."
        )
        raise ValueError(msg)
    alike: dict[str, set[str]] = {method: set() for method in methods}
    for pair in tests.pairs:
        if not pair.different:
            alike[pair.first].add(pair.second)
            alike[pair.second].add(pair.first)
    return alike


def _maximal(
    group: set[str], candidates: set[str], done: set[str], alike: Neighbours
) -> Iterator[set[str]]:
    """Yield the maximal cliques that hold ``group`` (Bron and Kerbosch, with a pivot).

    ``candidates`` and ``done`` are alike to all of the group; what is in ``done`` has
    had its turn.
    """
    if not candidates and not done:
        yield group
        return
    pivot = max(candidates | done, key=lambda method: len(alike[method] & candidates))
    for method in candidates - alike[pivot]:
        yield from _maximal(
            group | {method}, candidates & alike[method], done & alike[method], alike
        )
        candidates = candidates - {method}
        done = done | {method}
