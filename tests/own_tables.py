"""Tables in files, for the tests of reading and writing back."""

import io

from lacunet.tables import ReadOptions, open_table, write_filled


def save(folder, data, name="table.csv"):
    """Write a text or bytes to a file in a folder, and return its path."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return path


def read(folder, data, **options):
    """Read a table that consists of these bytes or this text."""
    with open_table(save(folder, data), ReadOptions(**options)) as table:
        return table.read()


def describe(folder, data, **options):
    """Return what is known of the columns, by their names."""
    with open_table(save(folder, data), ReadOptions(**options)) as table:
        return {column.name: column for column in table.columns}


def fill(folder, data, values, **options):
    """Fill missing values of a table with these; return its bytes."""
    with open_table(save(folder, data), ReadOptions(**options)) as table:
        return fill_file(table, values)


def fill_file(table, values, **more):
    """Fill missing values of an open table with these; return its bytes."""
    out = io.BytesIO()
    write_filled(table, out, lambda frame: put(frame, values), **more)
    return out.getvalue()


def put(frame, values):
    """Fill the columns of a frame with one value each, in their own type."""
    frame = frame.copy()
    for name, value in values.items():
        frame[name] = frame[name].where(frame[name].notna(), value)
    return frame
