"""Numbers in words."""


def clock_time(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> from lacunet.cli._words import clock_time
    >>> clock_time(65.4), clock_time(3600)
    ('1:05', '1:00:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
