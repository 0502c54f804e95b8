"""Read a stored map of any recalibrator."""

from __future__ import annotations

import os

from trueline.recalibration import BY_NAME, Recalibrator
from trueline.recalibration._document import read
from trueline.streams import Online

_STORED: list[type[Recalibrator]] = [*BY_NAME.values(), Online]
_CLASSES = {c.__name__: c for c in _STORED if c.is_stored}


def load(path: str | os.PathLike[str] | bytes, *, max_bytes: int = 1 << 28) -> Recalibrator:
    """Read a map that ``to_json`` or ``to_bytes`` wrote.

    Everything in the file is checked: checksum, format, version, class, parameters, and that scores
    are in range and increasing. Nothing in it is executed. The map is fitted, with results equal to
    the last bit. The checksum guards against damage and not against attacks; `recalibration.sign`
    renews that of a map that was edited by hand.

    Parameters
    ----------
    path : path or bytes
        A file of either form, or the result of ``to_bytes``.
    max_bytes : int, default 256 MiB
        Memory that reading the map may take. Larger files are not read, and others are refused
        before their content is unpacked. JSON takes about 4 times its size, or 75 bytes per score.

    Raises
    ------
    ValueError
        If the file is not a valid map; the message says where it fails.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import trueline as tl
    >>> R = tl.Isotonic().fit([0.3, -0.1, 2.0], tl.Normal([0.0, 0.0, 0.0], 1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "map.json"
    ...     R.to_json(file)
    ...     tl.load(file).transform(tl.Normal(5.0, 2.0)).median()
    array([5.6])
    """
    return read(path, max_bytes, _CLASSES)
