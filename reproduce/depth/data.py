"""Images with the depth of every pixel: NYU Depth v2, and Make3D from its original files."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline.datasets import DatasetError, read_data_file

SETS = ("nyuv2",)
# Path and SHA-256 of the file of each part of the official split.
_NYUV2 = {
    "train": (
        "nyuv2/nyuv2_train_72x96.npz",
        "997c913abae977469188a83839c4eafb69e468ec4ddab09a57fc3fc862fcf6ca",
    ),
    "test": (
        "nyuv2/nyuv2_test_72x96.npz",
        "ff145a1d2bf13c85cfbc5f67905e77053670e326d8394678968ef1d324e38294",
    ),
}
_NYUV2_SOURCE = (
    "the 1449 labelled pairs of nyu_depth_v2_labeled.mat in the official split of splits.mat, both "
    "at https://cs.nyu.edu/~fergus/datasets/nyu_depth_v2.html, resized to 72 x 96"
)
_OTHER_IMAGES = "Other images need no loader: pass arrays to trueline.models.DenseNetRegressor"
_MAKE3D_SOURCE = "http://make3d.cs.cornell.edu/data.html"
# Laser depths beyond this are unreliable; the error C1 of the literature leaves them out.
_C1_METRES = 70.0


@dataclass(frozen=True, eq=False, repr=False)
class DepthImages:
    """The result of `load_depth` and `read_make3d`.

    Attributes
    ----------
    name : str
    images : ndarray, (n, h, w, 3)
        Red, green and blue, uint8.
    depth : ndarray, (n, h, w)
        In metres, float32.
    mask : ndarray, (n, h, w)
        Where the depth is valid, bool.
    index : ndarray, (n,)
        The number or name of each image in the source.
    split : ndarray, (n,)
        "train" or "test" according to the source; "" if it does not say.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduce.depth.data import DepthImages
    >>> depth = np.ones((2, 4, 6), dtype=np.float32)
    >>> images = np.zeros((2, 4, 6, 3), dtype=np.uint8)
    >>> split = np.array(["train", "test"])
    >>> data = DepthImages("two", images, depth, depth > 0, np.arange(2), split)
    >>> data
    DepthImages('two', 2 images of 4 x 6: 1 train, 1 test; 100.0% of pixels valid)
    >>> data.part("test").index
    array([1])
    """

    name: str
    images: NDArray[np.uint8]
    depth: NDArray[np.float32]
    mask: NDArray[np.bool_]
    index: NDArray[Any]
    split: NDArray[np.str_]

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def __repr__(self) -> str:
        n, h, w = self.depth.shape
        kinds = dict.fromkeys(self.split.tolist())
        parts = ", ".join(f"{(self.split == k).sum()} {k or 'of no split'}" for k in kinds)
        valid = f"{100 * self.mask.mean():.1f}% of pixels valid"
        return f"DepthImages({self.name!r}, {n} images of {h} x {w}: {parts}; {valid})"

    def part(self, split: str) -> DepthImages:
        """Return the images of one split.

        Parameters
        ----------
        split : str
            "train" or "test".

        Returns
        -------
        DepthImages
        """
        rows = np.flatnonzero(self.split == split)
        if len(rows) == 0:
            known = sorted(set(self.split.tolist()))
            raise ValueError(f"no image is of the split {split!r}; expected one of {known}.")
        # A slice makes a view instead of a copy.
        together = rows[-1] - rows[0] + 1 == len(rows)
        some: Any = slice(rows[0], rows[-1] + 1) if together else rows
        return DepthImages(
            self.name,
            self.images[some],
            self.depth[some],
            self.mask[some],
            self.index[some],
            self.split[some],
        )


# ---- NYU Depth v2 ----------------------------------------------------------------------


def load_depth(name: str = "nyuv2") -> DepthImages:
    """Load NYU Depth v2: 795 training and 654 test images of rooms, at 72 x 96.

    They are read from ``nyuv2/nyuv2_train_72x96.npz`` and ``nyuv2/nyuv2_test_72x96.npz`` in the
    folder that the environment variable ``TRUELINE_DATA`` names, and the files must have the
    expected SHA-256. The data are for academic use and are not part of trueline.

    Parameters
    ----------
    name : str, default "nyuv2"
        The only data set.

    Returns
    -------
    DepthImages
        The training images come first; `index` is the place among all 1449 images.

    Raises
    ------
    DatasetError
        If a file is missing or has another SHA-256.

    Examples
    --------
    >>> from reproduce.depth.data import load_depth
    >>> data = load_depth("nyuv2")  # doctest: +SKIP
    >>> data  # doctest: +SKIP
    DepthImages('nyuv2', 1449 images of 72 x 96: 795 train, 654 test; 100.0% of pixels valid)
    >>> train = data.part("train")  # doctest: +SKIP
    """
    if name not in SETS:
        raise ValueError(
            f"{name!r} is not a set of images with depth; expected {', '.join(SETS)}. Make3D is "
            f"read from its own files by read_make3d(folder)."
        )
    parts = [_nyuv2_part(split) for split in _NYUV2]
    arrays = (
        np.concatenate([getattr(part, field) for part in parts])
        for field in ("images", "depth", "mask", "index", "split")
    )
    return DepthImages("nyuv2", *arrays)


def _nyuv2_part(split: str) -> DepthImages:
    file, sha256 = _NYUV2[split]
    content = read_data_file(file, sha256, source=_NYUV2_SOURCE, remedy=_OTHER_IMAGES)
    names = ("image", "depth_cm", "index")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            images, centimetres, index = (arrays[name] for name in names)
    except (KeyError, ValueError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(
            f"{file} cannot be read: {error}. Expected the arrays {', '.join(names)}."
        ) from error
    shape = centimetres.shape
    if images.shape != (*shape, 3) or index.shape != shape[:1] or images.dtype != np.uint8:
        raise DatasetError(
            f"{file} holds images {images.dtype} {images.shape}, depths {shape} and index "
            f"{index.shape}; expected uint8 (n, h, w, 3), (n, h, w) and (n,)."
        )
    depth = centimetres.astype(np.float32) / np.float32(100.0)
    return DepthImages("nyuv2", images, depth, depth > 0, index, np.full(len(index), split))


# ---- Make3D ----------------------------------------------------------------------------


def read_make3d(folder: str | os.PathLike[str]) -> DepthImages:
    """Read Make3D, or a part of it, from the files that its authors publish.

    All images ``img-*.jpg`` in the folder and its subfolders are read, each with the file
    ``depth_sph_corr-*.mat`` of the same name in any of these folders. The depth is the fourth
    layer of ``Position3DGrid``, in metres; images are averaged down to its grid (55 x 305). Depths
    above 0 and below 70 m are valid, as for the error C1 of the literature. This function needs
    Pillow: ``pip install pillow``.

    Parameters
    ----------
    folder : path

    Returns
    -------
    DepthImages
        Images are ordered by name, the training images first; `index` is the part of the name
        after ``img-``. `split` follows from the name of the folder, if that begins with train or
        test.

    Raises
    ------
    DatasetError
        If there are no images, an image has no depth or a depth no image, a file cannot be
        read, or grids differ.

    Examples
    --------
    >>> from reproduce.depth.data import read_make3d
    >>> data = read_make3d("make3d")  # doctest: +SKIP
    >>> data.part("train").images.shape  # doctest: +SKIP
    (400, 55, 305, 3)
    """
    root = Path(folder)
    pairs = _pairs(root)
    images: list[NDArray[np.uint8]] = []
    depths: list[NDArray[np.float32]] = []
    for key, (picture, grid) in pairs.items():
        depth = _grid(grid)
        if depths and depth.shape != depths[0].shape:
            first = next(iter(pairs.values()))[1]
            raise DatasetError(
                f"{grid} has a grid of {depth.shape} and {first} one of {depths[0].shape}; "
                f"expected one size. Read {key!r} and its like from a folder of their own."
            )
        images.append(_picture(picture, depth.shape))
        depths.append(depth)
    depth = np.stack(depths)
    # A comparison with NaN is false, so NaN is not valid.
    mask = (depth > 0) & (depth < _C1_METRES)
    split = np.array([_split_of(picture) for picture, _ in pairs.values()])
    return DepthImages("make3d", np.stack(images), depth, mask, np.array(list(pairs)), split)


def _pairs(root: Path) -> dict[str, tuple[Path, Path]]:
    """Return images and their depths by name, the training images first."""
    pictures, grids = _named(root, "img-", ".jpg"), _named(root, "depth_sph_corr-", ".mat")
    if not pictures:
        there = "no image img-*.jpg" if root.is_dir() else "no such folder"
        raise DatasetError(
            f"{root}: {there}. Name the folder that holds the images and depths of Make3D, "
            f"unpacked, from {_MAKE3D_SOURCE}."
        )
    for these, those, expected in (
        (pictures, grids, "depth_sph_corr-{}.mat"),
        (grids, pictures, "img-{}.jpg"),
    ):
        alone = sorted(set(these) - set(those))
        if alone:
            raise DatasetError(
                f"{these[alone[0]]} has no counterpart ({len(alone)} of {len(these)} have none); "
                f"expected {expected.format(alone[0])} in {root} or a folder below. Unpack both "
                f"archives, images and depths, or remove the file."
            )
    order = {"train": 0, "test": 1}
    names = sorted(pictures, key=lambda key: (order.get(_split_of(pictures[key]), 2), key))
    return {key: (pictures[key], grids[key]) for key in names}


def _named(root: Path, start: str, end: str) -> dict[str, Path]:
    """Return files by the part of their names between start and end."""
    found: dict[str, Path] = {}
    for file in sorted(root.rglob(f"{start}*{end}")):
        key = file.name[len(start) : -len(end)]
        if key in found:
            raise DatasetError(
                f"{file} and {found[key]} have the same name; expected different names. Remove one."
            )
        found[key] = file
    return found


def _split_of(picture: Path) -> str:
    name = picture.parent.name.lower()
    return next((split for split in ("train", "test") if name.startswith(split)), "")


def _grid(file: Path) -> NDArray[np.float32]:
    """Return the depths in a file, (h, w)."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    # The errors that scipy raises for damaged files.
    faults = (MatReadError, ValueError, TypeError, OSError, LookupError, EOFError, OverflowError)
    try:
        content = loadmat(file, variable_names=["Position3DGrid"])
    except (*faults, MemoryError, NotImplementedError, zlib.error, struct.error) as error:
        raise DatasetError(f"{file} cannot be read: {error}. Copy the file again.") from error
    grid = content.get("Position3DGrid")
    if grid is None or grid.ndim != 3 or grid.shape[2] != 4 or grid.dtype.kind not in "fiu":
        found = "none" if grid is None else f"one of {grid.dtype} {grid.shape}"
        raise DatasetError(
            f"{file}: expected an array Position3DGrid of shape (h, w, 4) and found {found}. Copy "
            f"the file again."
        )
    return np.asarray(grid[:, :, 3], dtype=np.float32)


def _picture(file: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return an image averaged down to a grid, (h, w, 3)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"read_make3d needs Pillow, which cannot be imported ({error}). "
            f"Install it with: pip install pillow"
        ) from error
    try:
        with Image.open(file, formats=["JPEG"]) as image:
            small = image.convert("RGB").resize((shape[1], shape[0]), Image.Resampling.BOX)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DatasetError(f"{file} cannot be read: {error}. Copy the file again.") from error
    return np.asarray(small)
