"""Short documents packed into rows of one length."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...zoo.errors import CanonError

_NO_LABEL = -1


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows that hold several documents each.

    Args:
        token_ids: int32 (N, T), 0 behind the last document of a row.
        document_ids: int32 (N, T), 1, 2, ... in each row, 0 behind the last document.
        labels: int32 (N, T), the id that follows in the same document; -1 where there is none, since 0 is an id like any other.
    """

    token_ids: np.ndarray = field(repr=False)
    document_ids: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """What `zoo.packed_model` reads."""
        return {"token_ids": self.token_ids, "document_ids": self.document_ids}

    @property
    def filled(self) -> float:
        """Share of the steps that hold a token."""
        return float(np.mean(self.document_ids > 0))


def pack(documents: Sequence[Sequence[int]], length: int, *, end_id: int | None = None) -> PackedRows:
    """Pack documents into as few rows as a simple rule can: the longest first, each into the first row that has room.

    A document that is longer than a row is cut into pieces, each of which counts as a document. The loss of such rows is
    `SequenceCrossEntropy(ignored_label=-1)`.

    Args:
        documents: ids of each, none of them empty.
        length: steps of a row, T.
        end_id: label of a document's last id, and of no piece that goes on; None for no label there.

    Raises:
        CanonError: for no documents, an empty one, or a length below 2.

    Example:
        >>> from keras_canon.training.data import pack
        >>> rows = pack([[5, 6, 7], [8, 9], [4]], 5, end_id=3)
        >>> rows.token_ids.tolist(), rows.document_ids.tolist()
        ([[5, 6, 7, 8, 9], [4, 0, 0, 0, 0]], [[1, 1, 1, 2, 2], [1, 0, 0, 0, 0]])
        >>> rows.labels.tolist()
        [[6, 7, 3, 9, 3], [3, -1, -1, -1, -1]]
    """
    if length < 2:
        raise CanonError(f"The length of packed rows must be at least 2, got {length}.")
    if not len(documents) or not all(map(len, documents)):
        raise CanonError("There must be at least one document to pack, and none may be empty.")
    pieces = [piece for document in documents for piece in _pieces(np.asarray(document, "int32"), length, end_id)]
    pieces.sort(key=lambda piece: -len(piece[0]))
    rows: list[list[tuple[np.ndarray, np.ndarray]]] = []
    # rows by what room they have, so that a full one is not looked at again
    open_rows: dict[int, list[int]] = {}
    for piece in pieces:
        size = len(piece[0])
        fitting = [numbers[0] for room, numbers in open_rows.items() if room >= size and numbers]
        if fitting:
            number = min(fitting)
            room = length - sum(len(ids) for ids, _ in rows[number])
            open_rows[room].remove(number)
        else:
            number, room = len(rows), length
            rows.append([])
        rows[number].append(piece)
        if room > size:
            _insert(open_rows.setdefault(room - size, []), number)
    shape = (len(rows), length)
    packed = PackedRows(np.zeros(shape, "int32"), np.zeros(shape, "int32"), np.full(shape, _NO_LABEL, "int32"))
    for number, row in enumerate(rows):
        start = 0
        for document, (ids, labels) in enumerate(row, start=1):
            place = slice(start, start + len(ids))
            packed.token_ids[number, place], packed.labels[number, place] = ids, labels
            packed.document_ids[number, place] = document
            start += len(ids)
    return packed


def _pieces(document: np.ndarray, length: int, end_id: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (ids, labels) of the pieces of a document."""
    labels = np.append(document[1:], _NO_LABEL if end_id is None else end_id).astype("int32")
    starts = range(0, len(document), length)
    return [(document[start : start + length], labels[start : start + length]) for start in starts]


def _insert(numbers: list[int], number: int) -> None:
    """Put a row's number in its place in an ascending list."""
    place = int(np.searchsorted(numbers, number))
    numbers.insert(place, number)
