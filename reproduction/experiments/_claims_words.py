"""Numbers in words."""

from collections.abc import Iterable, Mapping, Sequence

from reproduction.experiments._columns import COLUMNS

# Without commas, and of what is no column.
_TITLES = {
    "em-frozen": "EM frozen",
    "em-joint": "EM + joint",
    "imputation": "imputation on average",
    "lacunet-short": "lacunet in few epochs",
    "lacunet-wide": "lacunet with a wider network",
    "paper-complete": "paper trained on complete rows",
    "paper-relu": "paper with ReLU",
}


def title_of(method: str) -> str:
    """Return the name of a method in a sentence.

    Parameters
    ----------
    method : str

    Returns
    -------
    str
    """
    known = COLUMNS[method].title if method in COLUMNS else method
    return _TITLES.get(method, known)


def join_words(words: Iterable[str]) -> str:
    """Return words as in a sentence.

    Parameters
    ----------
    words : iterable of str

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.experiments._claims_words import join_words
    >>> join_words(["karma", "geom", "mean"])
    'karma, geom and mean'
    """
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def join_titles(methods: Iterable[str]) -> str:
    """Return methods as in a sentence.

    Parameters
    ----------
    methods : iterable of str

    Returns
    -------
    str
    """
    return join_words(map(title_of, methods))


def tell_number(value: float) -> str:
    """Return a number in four digits.

    Parameters
    ----------
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.experiments._claims_words import tell_number
    >>> tell_number(0.0081), tell_number(12.3456)
    ('0.0081', '12.35')
    """
    return f"{value:.4g}"


def tell_values(values: Mapping[str, float]) -> str:
    """Return what each method has.

    Parameters
    ----------
    values : mapping of str to float

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.experiments._claims_words import tell_values
    >>> tell_values({"paper": 0.0081, "knn": 0.00722})
    'paper 0.0081, k-nn 0.00722'
    """
    return ", ".join(
        f"{title_of(method)} {tell_number(value)}" for method, value in values.items()
    )


def tell_count(number: int, thing: str) -> str:
    """Return a number of things.

    Parameters
    ----------
    number : int
    thing : str

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.experiments._claims_words import tell_count
    >>> tell_count(1, "seed"), tell_count(7, "data set")
    ('1 seed', '7 data sets')
    """
    return f"{number} {thing}{'' if number == 1 else 's'}"


def prefixed(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return values under longer names.

    Parameters
    ----------
    prefix : str
    values : mapping of str to float

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from reproduction.experiments._claims_words import prefixed
    >>> prefixed("reported", {"knn": 0.00722})
    {'reported knn': 0.00722}
    """
    return {f"{prefix} {name}": value for name, value in values.items()}


def sentences(*parts: str) -> str:
    """Return the sentences that are not empty, as a text.

    Parameters
    ----------
    *parts : str

    Returns
    -------
    str
    """
    kept: Sequence[str] = [part for part in parts if part]
    return " ".join(kept)


def tell_reported(
    reported: Mapping[str, float], *, higher_is_better: bool, ours: str = "paper"
) -> str:
    """Say whether the paper's own figures agree that a method is the best.

    Parameters
    ----------
    reported : mapping of str to float
        By method.
    higher_is_better : bool
    ours : str, default="paper"

    Returns
    -------
    str
        Empty if there are no figures of others.

    Examples
    --------
    >>> from reproduction.experiments._claims_words import tell_reported
    >>> tell_reported({"paper": 0.0081, "knn": 0.00722}, higher_is_better=False)
    "The paper's own figures deny it: k-nn 0.00722, paper 0.0081."
    """
    if ours not in reported or len(reported) < 2:
        return ""
    sign = 1 if higher_is_better else -1
    best = sign * reported[ours]
    ahead = {key: value for key, value in reported.items() if sign * value > best}
    if ahead:
        both = {**ahead, ours: reported[ours]}
        return f"The paper's own figures deny it: {tell_values(both)}."
    return "The paper's own figures agree."
