"""The checksum of a map in JSON: its last member, the SHA-256 digest of all bytes before it.

It shows that a file was damaged or edited. It does not show who wrote the file, because anyone can
compute it.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from trueline._files import write_text
from trueline._messages import InputError

_KEY = "sha256"
_MEMBER = rf'"{_KEY}":\s*"([0-9a-f]{{64}})"'
_LAST = re.compile(rf",\s*{_MEMBER}\s*}}\s*\Z".encode())
_EARLIER = re.compile(rf"{_MEMBER}\s*,\s*")
# The checksum is looked for in this number of bytes at the end.
_END = 512


def with_checksum(text: str) -> str:
    """Return a JSON object that has members, with its checksum as one more."""
    content = text.rstrip().removesuffix("}").rstrip()
    return f'{content}, "{_KEY}": "{hashlib.sha256(content.encode()).hexdigest()}"}}'


def checksum_is_right(data: bytes) -> bool | None:
    """Return whether JSON ends with its checksum; None if it ends with none."""
    found = _LAST.search(data, max(len(data) - _END, 0))
    if found is None:
        return None
    return hashlib.sha256(memoryview(data)[: found.start()]).hexdigest().encode() == found[1]


def sign(path: str | os.PathLike[str]) -> None:
    """Write the checksum of a map that was edited by hand, so that `trueline.load` reads it.

    The rest of the file is left as it is. The checksum is the last member of the JSON object,
    ``"sha256"``: the SHA-256 digest, in hexadecimal digits, of all bytes before the comma in front
    of it. Any other change of the file, even of spaces, needs a new one. It protects against
    damage and not against attacks, because anyone can compute it.

    Parameters
    ----------
    path : path
        A map that ``to_json`` wrote, as it was edited. What it holds is checked by
        `trueline.load`, not here.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import trueline as tl
    >>> from trueline.recalibration import sign
    >>> R = tl.Isotonic().fit([0.3, -0.1, 2.0], tl.Point([0.0, 0.0, 0.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "map.json"
    ...     _ = file.write_text(R.to_json().replace("2.0", "1.5"))
    ...     sign(file)
    ...     tl.load(file).scores_.values
    array([-0.1,  0.3,  1.5])
    """
    file = Path(path)
    data = file.read_bytes()
    try:
        text = _EARLIER.sub("", _LAST.sub(b"}", data).decode("utf-8")).strip()
    except UnicodeDecodeError:
        text = ""
    if not (text.startswith("{") and text.endswith("}") and len(text) > 2):
        raise InputError(f"{file} is not a JSON object; expected a map that to_json wrote.")
    write_text(file, with_checksum(text))
