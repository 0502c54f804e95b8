"""Find a data set, check that it is the expected one, and read it."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from trueline._files import write_text
from trueline._messages import did_you_mean
from trueline._validation import FloatArray
from trueline.datasets._sets import SETS, Info

FOLDER = "TRUELINE_DATA"


class DatasetError(RuntimeError):
    """A data set is missing or is not the expected one.

    Examples
    --------
    >>> from trueline import datasets
    >>> issubclass(datasets.DatasetError, RuntimeError)
    True
    """


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """The result of `load`.

    Attributes
    ----------
    name : str
    X : ndarray, (n, d)
        Features, float64.
    y : ndarray, (n,)
        Targets, float64.
    feature_names : tuple of str
        The names in the source.
    target_name : str

    Examples
    --------
    >>> from trueline.datasets import Dataset
    >>> Dataset("two", np.eye(2), np.zeros(2), ("a", "b"), "y")
    Dataset('two', 2 rows x 2 features, target 'y')
    """

    name: str
    X: FloatArray
    y: FloatArray
    feature_names: tuple[str, ...]
    target_name: str

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}, {n} rows x {d} features, target {self.target_name!r})"


def load(name: str) -> Dataset:
    """Load one of the eight data sets of Table 1.

    Three places are searched: the file ``uci/<name>.csv`` in the folder that the environment
    variable ``TRUELINE_DATA`` names; the cache, which is the folder ``trueline`` in
    scikit-learn's data home; and OpenML, whose answer is stored in the cache. Checksums ensure
    that all three give the same data: the SHA-256 of the file in the first case, that of the
    values in the others.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Dataset
        Rows are in the order of the source, and values are not standardised.

    Raises
    ------
    DatasetError
        If the data set is in none of these places, or has another checksum.

    Examples
    --------
    >>> from trueline import datasets
    >>> data = datasets.load("mpg")  # doctest: +SKIP
    >>> data  # doctest: +SKIP
    Dataset('mpg', 392 rows x 7 features, target 'mpg')
    """
    known = _known(name)
    folder = os.environ.get(FOLDER)
    file = None if not folder else Path(folder) / "uci" / f"{known.name}.csv"
    if file is not None and file.is_file():
        return _from_file(known, file)
    cache = _cache(known)
    if cache is not None and cache.is_file():
        return _from_cache(known, cache)
    return _from_openml(known, file, cache)


def _known(name: str) -> Info:
    if name in SETS:
        return SETS[name]
    hint = did_you_mean(name, SETS) if isinstance(name, str) else ""
    raise ValueError(f"{name!r} is not a data set; expected one of {', '.join(SETS)}.{hint}")


def read_data_file(name: str, sha256: str, *, source: str, remedy: str) -> bytes:
    """Read a file in the folder that ``TRUELINE_DATA`` names, and check its SHA-256.

    Parameters
    ----------
    name : str
        Path of the file, relative to that folder.
    sha256 : str
        Expected SHA-256, in hexadecimal digits.
    source : str
        Where the file comes from, for the error message.
    remedy : str
        What to do without the file, as a sentence without its full stop, for the error message.

    Raises
    ------
    DatasetError
        If ``TRUELINE_DATA`` is not set, or the file is missing or has another SHA-256.

    Examples
    --------
    >>> from trueline import datasets
    >>> datasets.read_data_file(
    ...     "mine/no.csv", "0" * 64, source="our server", remedy="Ask us for it"
    ... )
    Traceback (most recent call last):
    ...
    trueline.datasets._load.DatasetError: mine/no.csv was not found: ...
    """
    folder = os.environ.get(FOLDER)
    file = Path(folder) / name if folder else None
    if file is None or not file.is_file():
        searched = f"{FOLDER} is not set" if file is None else f"there is no file {file}"
        raise DatasetError(
            f"{name} was not found: {searched}. The data are {source}. If you have the file, set "
            f"{FOLDER} to the folder that holds {name}. {remedy}."
        )
    return _read_checked(file, sha256, "the expected file", f". {remedy}")


def _from_file(known: Info, file: Path) -> Dataset:
    """Read a file whose bytes have the expected checksum."""
    remedy = f", or unset {FOLDER} to use the cache or OpenML"
    what = f"the file of the data set {known.name!r}"
    return _parse(known, _read_checked(file, known.file_sum, what, remedy))


def _read_checked(file: Path, expected: str, what: str, remedy: str) -> bytes:
    """Read a file, and raise if it has another SHA-256."""
    content = _read(file)
    if _sum(content) == expected:
        return content
    found = "expected another SHA-256"
    if _sum(content.replace(b"\r\n", b"\n")) == expected:
        found = "its line ends are CRLF, and LF was expected"
    raise DatasetError(
        f"{file} is not {what}: {found} (found {_sum(content)}, expected {expected}). Copy the "
        f"file again, byte for byte{remedy}."
    )


def _from_cache(known: Info, cache: Path) -> Dataset:
    """Read a file whose values have the expected checksum."""
    try:
        data = _parse(known, _read(cache))
        wrong = _difference(known, data)
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise DatasetError(
            f"{cache}, in the cache, is not the data set {known.name!r}: {wrong}. Delete it, "
            f"and it will be fetched again."
        )
    return data


def _from_openml(known: Info, file: Path | None, cache: Path | None) -> Dataset:
    """Fetch a data set, check it, and store it in the cache."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn warns about every retry
            data = _clean(known, _fetch(known))
    except (OSError, HTTPException, ValueError, ImportError) as error:
        _raise_not_found(known, file, cache, error)
    wrong = _difference(known, data)
    if wrong:
        raise DatasetError(
            f"the data set {known.openml_name} of OpenML "
            f"(https://www.openml.org/d/{known.openml_id}) is not the expected {known.name!r}: "
            f"{wrong}. Set {FOLDER} to a folder that holds uci/{known.name}.csv, and inform the "
            f"authors of trueline."
        )
    if cache is not None:
        _keep(cache, data)
    return data


def _raise_not_found(
    known: Info, file: Path | None, cache: Path | None, error: Exception
) -> NoReturn:
    searched = f"{FOLDER} is not set" if file is None else f"there is no file {file}"
    reason = " ".join(str(error).split()) or "no reason given"
    cached = (
        "scikit-learn's data home cannot be written to" if cache is None else f"no file {cache}"
    )
    where = "scikit-learn's data home" if cache is None else str(cache)
    raise DatasetError(
        f"the data set {known.name!r} was not found: {searched}; {cached}; OpenML did not deliver "
        f"it ({type(error).__name__}: {reason}). Fix this in one of three ways: (1) set {FOLDER} "
        f"to a folder that holds uci/{known.name}.csv; (2) on a machine with internet access, "
        f"call trueline.datasets.load({known.name!r}) and copy the file in its cache to {where}; "
        f"(3) connect this machine to the internet, or wait until openml.org answers, and try "
        f"again."
    ) from error


def _fetch(known: Info) -> Any:
    """Fetch from OpenML as arrays, or as a pandas frame if there are text columns."""
    from sklearn.datasets import fetch_openml

    options: dict[str, Any] = {"data_id": known.openml_id, "parser": "liac-arff", "cache": False}
    try:
        return fetch_openml(as_frame=False, **options)
    except ValueError as error:
        if "as_frame=True" not in str(error):
            raise
    return fetch_openml(as_frame=True, **options)


def _clean(known: Info, fetched: Any) -> Dataset:
    """Remove identifiers and missing values, as was done for the files."""
    names = [name for name in fetched.feature_names if name not in known.identifiers]
    X = np.column_stack([_column(fetched, name) for name in names])
    y = np.asarray(fetched.target, dtype=np.float64)
    missing = np.isnan(X)
    if known.gaps == "columns":
        whole = np.flatnonzero(~missing.any(axis=0))
        names, X = [names[i] for i in whole], X[:, whole]
    else:
        complete = ~missing.any(axis=1)
        X, y = X[complete], y[complete]
    return Dataset(known.name, X, y, tuple(names), known.target)


def _column(fetched: Any, name: str) -> FloatArray:
    """Return a column as numbers; the labels of a nominal column are parsed as numbers."""
    if fetched.get("frame") is not None:
        column: FloatArray = fetched.frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        return column
    codes = np.asarray(fetched.data[:, fetched.feature_names.index(name)], dtype=np.float64)
    labels = (fetched.categories or {}).get(name)
    if labels is None:
        return codes
    values = np.array([float(label) for label in labels])
    there = ~np.isnan(codes)
    numbers = np.full(codes.shape, np.nan)
    numbers[there] = values[codes[there].astype(np.intp)]
    return numbers


def _difference(known: Info, data: Dataset) -> str:
    """Return how the data differ from the expected ones; an empty text if they do not."""
    if data.X.shape != (known.rows, known.features):
        shape = (known.rows, known.features)
        return f"its features have shape {data.X.shape} and {shape} was expected"
    # Adding 0 makes -0 the same as 0.
    table = (np.column_stack([data.X, data.y]) + 0.0).astype("<f8")
    found = _sum(table.tobytes())
    if found != known.values_sum:
        return f"its values have the SHA-256 {found} and {known.values_sum} was expected"
    return ""


def _parse(known: Info, content: bytes) -> Dataset:
    """Read a table of numbers with a header, the target last."""
    text = content.decode("utf-8")
    header = text.partition("\n")[0].strip().split(",")
    table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1, ndmin=2)
    X, y = np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()
    return Dataset(known.name, X, y, tuple(header[:-1]), known.target)


def _keep(cache: Path, data: Dataset) -> None:
    """Write a data set to the cache; warn if that fails."""
    lines = [",".join([*data.feature_names, "target"])]
    rows = np.column_stack([data.X, data.y]).tolist()
    lines += [",".join(map(repr, row)) for row in rows]
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        write_text(cache, "\n".join(lines) + "\n")
    except OSError as error:
        warnings.warn(
            f"the data set {data.name!r} will be fetched again next time: {error}.", stacklevel=4
        )


def _cache(known: Info) -> Path | None:
    """Return the file of a data set in the cache; None if there can be no cache."""
    from sklearn.datasets import get_data_home

    try:
        return Path(get_data_home()) / "trueline" / f"{known.name}.csv"
    except OSError:
        return None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise DatasetError(f"cannot read {file}: {error.strerror}.") from error


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
