"""CSV written back byte for byte, but for its holes."""

from typing import Any

import numpy as np

from lacunet.tables._csv import CsvReader
from lacunet.tables._filling import FillCount, Job, Tally
from lacunet.tables._raw import RawRows
from lacunet.tables._scanner import Bools, Places
from lacunet.tables._wanted import as_frame, make_table
from lacunet.tables._writing import quote_cells, write_values


def fill_csv(reader: CsvReader, job: Job) -> FillCount:
    """Write a CSV file with its holes filled.

    Parameters
    ----------
    reader : CsvReader
    job : Job

    Returns
    -------
    FillCount
    """
    filler, encoding = _Filler(reader, job), reader.encoding
    for output in job.outputs:
        output.write(encoding.mark + encoding.encode(reader.header.data))
    for rows in reader.scan(exact=True):
        pieces = filler.fill_rows(rows)
        for output, data in zip(job.outputs, pieces, strict=True):
            output.write(encoding.encode(data))
        filler.tally.n_rows += len(rows)
        job.advance(len(rows))
    return filler.tally.result()


class _Filler:
    def __init__(self, reader: CsvReader, job: Job) -> None:
        self.tally = Tally()
        self._reader = reader
        self._job = job
        self._places = [place for _, place in job.here]

    def fill_rows(self, rows: RawRows) -> list[bytes]:
        """Return the data of some rows for each output."""
        job = self._job
        grid, holes = self._reader.split(rows)
        incomplete = np.flatnonzero(holes[:, self._places].any(axis=1))
        if not len(incomplete):
            return [rows.data] * len(job.outputs)
        # The model is not asked about complete rows.
        arrays = self._reader.convert(grid.rows(incomplete), job.wanted)
        filled = job.ask(as_frame(make_table(arrays, job.wanted)))
        return [
            self._replace(rows, holes, incomplete, frame, is_first=place == 0)
            for place, frame in enumerate(filled)
        ]

    def _replace(
        self,
        rows: RawRows,
        holes: Bools,
        incomplete: Places,
        frame: Any,
        *,
        is_first: bool,
    ) -> bytes:
        """Return the data of some rows with the values of a frame in their holes."""
        places, cells = [np.empty(0, dtype=np.intp)], []
        for each, place in self._job.here:
            found = self.tally.take(
                frame, each.name, holes[incomplete, place], counts=is_first
            )
            if not len(found.rows):
                continue
            at = incomplete[found.rows] * holes.shape[1] + place
            column = self._reader.columns[place]
            texts = write_values(found.values, column, each.form)
            places.append(at)
            cells += quote_cells(
                texts, rows.cells(at), column, self._reader.header.separator
            )
        every = np.concatenate(places)
        order = np.argsort(every)
        return rows.replace(every[order], [cells[place] for place in order])
