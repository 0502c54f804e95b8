"""A fitted map as an ONNX model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._files import whole_file
from trueline._messages import EXTRAS, library
from trueline._validation import FloatArray, check_max_knots, levels as checked_levels
from trueline._warnings import each_warning_once
from trueline.export._formulas import (
    Deployed,
    Language,
    Operation,
    Term,
    cdf as cdf_formula,
    deployed,
)
from trueline.laws import ScoreLaw
from trueline.recalibration import Recalibrator

if TYPE_CHECKING:
    from onnx import ModelProto

# onnxruntime reads these versions since 1.12.
_OPSET = 17
_IR_VERSION = 8
_PREFIX = "trueline/"


def to_onnx(
    recalibrator: Recalibrator,
    path: str | os.PathLike[str] | None = None,
    *,
    levels: ArrayLike | None = (0.05, 0.5, 0.95),
    cdf: bool = False,
    dtype: str = "float32",
    max_knots: int = 10_000,
) -> ModelProto:
    """Make an ONNX model that recalibrates forecasts as a fitted map does.

    Its inputs, each of shape (n,), are ``loc``; ``scale``, unless the map is for Point forecasts;
    ``y`` for the CDF; and ``group`` (int64) for a Grouped map: the position of the group in
    ``recalibrator.groups_``, any other number for the pooled map. Its outputs are ``quantiles``
    (n, m), one column per level, and ``cdf`` (n,). It uses only standard operators (opset 17), so
    every runtime runs it; ``onnx.compose.merge_models`` joins it to the network that makes the
    forecasts.

    Quantiles are ``loc + scale * constant``, with the constants of the whole map and with its
    ``least_width_`` added to the scale. The CDF searches the knots by bisection, and continues
    beyond them with the tails of the map.

    In float32 a quantile is within 6e-8 times (abs(loc) + 3 abs(quantile - loc)) of ours. The
    score (y - loc) / scale is off by up to 5e-7 of itself, and the CDF by the rise of the map over
    that distance, plus 2e-6; this is large only where float32 cannot tell scores apart. In the
    lower tail the CDF keeps its digits (2e-5 of itself at 1e-9, besides the rounding of the score)
    down to 1e-38; in the upper tail it is 1 from 1 - 3e-8 on. ``dtype="float64"`` gives our numbers
    to about 1e-14.

    Parameters
    ----------
    recalibrator : Recalibrator
        Isotonic, Smooth, BetaCalibration, Scaling or Auto, Grouped of these, or Online, fitted
        on location-scale forecasts (Normal, StudentT, Laplace, Logistic) or on Point.
    path : path, optional
        File to write, whole or not at all.
    levels : (m,) array-like or None, default (0.05, 0.5, 0.95)
        Levels of the quantiles, in (0, 1); None for none.
    cdf : bool, default False
        Whether the model also takes outcomes and gives the CDF at them.
    dtype : {"float32", "float64"}
        Type of inputs and outputs.
    max_knots : int, default 10,000
        Most knots of an Isotonic map in the CDF, evenly spaced in rank. The model's ``cdf_error``
        is the largest change of the CDF.

    Returns
    -------
    onnx.ModelProto
        ``metadata_props`` holds the map's name, the levels, the groups and ``cdf_error``, as
        JSON. If the scale is not above 0, or an input is NaN, outputs are NaN.

    Warns
    -----
    CalibrationWarning
        If a level lies outside those that the calibration rows support.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> import trueline as tl
    >>> from trueline.export import to_onnx
    >>> R = tl.Isotonic().fit([-2.0, 0.0, 3.0], tl.Normal([0.0, 0.0, 0.0], 1.0))
    >>> model = to_onnx(R, levels=[0.25, 0.5], cdf=True)
    >>> session = onnxruntime.InferenceSession(model.SerializeToString())
    >>> rows = {"loc": [10.0], "scale": [2.0], "y": [10.0]}
    >>> session.run(None, {name: np.array(v, np.float32) for name, v in rows.items()})
    [array([[ 6., 10.]], dtype=float32), array([0.5], dtype=float32)]
    """
    onnx = library("onnx", "to_onnx", EXTRAS["onnx"])
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype is {dtype!r}; expected 'float32' or 'float64'.")
    if not isinstance(cdf, bool):
        raise ValueError(f"cdf is {cdf!r}; expected True or False.")
    if levels is None and not cdf:
        raise ValueError("levels is None and cdf is False; expected at least one output.")
    check_max_knots(max_knots)
    found = deployed(recalibrator, "to_onnx")
    graph = _Graph(onnx, np.dtype(dtype), found)
    notes: dict[str, object] = {"recalibrator": recalibrator._call(), "score": found.kind}
    if found.groups is not None:
        notes["groups"] = found.groups
    if levels is not None:
        wanted = np.atleast_1d(checked_levels(levels, "levels"))
        notes["levels"] = wanted.tolist()
        with each_warning_once():
            scores = found.quantiles(wanted)
        graph.add_quantiles(scores)
    if cdf:
        laws, error = found.thinned(max_knots)
        notes["cdf_error"] = error
        graph.add_cdf(laws)
    model = graph.model(notes)
    if path is not None:
        with whole_file(Path(path)) as file:
            file.write(model.SerializeToString())
    return model


class _Node(Term):
    """The name of a value in a graph."""

    def __init__(self, graph: _Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def call(self, operation: Operation, *others: Self | float) -> Self:
        graph = self.graph
        terms: list[_Node] = [self]
        terms += [graph.number(o) if isinstance(o, int | float) else o for o in others]
        if operation == "into":
            return type(self)(graph, graph.node("Div", *reversed(terms)).name)
        return type(self)(graph, graph.node(operation.capitalize(), *terms).name)


class _Graph:
    """A model that is being built."""

    def __init__(self, onnx: ModuleType, dtype: np.dtype[Any], found: Deployed) -> None:
        self._onnx = onnx
        self.dtype = dtype
        self._found = found
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], tuple[str, Any]] = {}
        self._loc = self._input("loc", dtype)
        self._scale = self._input("scale", dtype) if found.scaled else None
        self._group = None if found.groups is None else self._known(len(found.groups))

    def _known(self, groups: int) -> _Node:
        """Return the position of each row's law; unknown groups get the pooled law, the last."""
        group = self._input("group", np.dtype(np.int64))
        pooled, zero = (self.constant(np.array(k, np.int64)) for k in (groups, 0))
        inside = self.node("And", self.node("LessOrEqual", zero, group), group < pooled)
        return inside.where(group, pooled)

    def _declare(self, name: str, dtype: np.dtype[Any], shape: Sequence[str | int]) -> Any:
        helper = self._onnx.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)

    def _input(self, name: str, dtype: np.dtype[Any]) -> _Node:
        self._inputs.append(self._declare(name, dtype, ["n"]))
        return _Node(self, name)

    def _output(self, name: str, value: _Node, shape: Sequence[str | int]) -> None:
        self._nodes.append(self._onnx.helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(self._declare(name, self.dtype, shape))

    def node(self, operator: str, *inputs: _Node, **attributes: object) -> _Node:
        """Add an operator."""
        name = f"{_PREFIX}{len(self._nodes)}"
        names = [value.name for value in inputs]
        self._nodes.append(self._onnx.helper.make_node(operator, names, [name], **attributes))
        return _Node(self, name)

    def constant(self, a: NDArray[Any]) -> _Node:
        """Add an array, unless it is there already."""
        key = a.dtype.str, a.shape, a.tobytes()
        if key not in self._constants:
            name = f"{_PREFIX}c{len(self._constants)}"
            self._constants[key] = name, self._onnx.numpy_helper.from_array(a, name)
        return _Node(self, self._constants[key][0])

    def numbers(self, a: FloatArray) -> _Node:
        """Add an array of numbers, in the type of the model."""
        return self.constant(stored(a, self.dtype))

    def number(self, value: float) -> _Node:
        """Add a number."""
        return self.numbers(np.array(value))

    def _guarded(self, value: _Node, scale: _Node | None) -> _Node:
        """Return NaN if the scale is not above 0, where Python raises."""
        nan = self.constant(np.array(np.nan, self.dtype))
        return value if scale is None else (self.number(0.0) < scale).where(value, nan)

    def _widened(self, scale: _Node) -> _Node:
        """Return the scale of the prepared forecast."""
        width = self._found.least_width
        return scale + width if width else scale

    def add_quantiles(self, scores: FloatArray) -> None:
        """Add an output from the quantiles of the score, (laws, levels)."""
        axis = self.constant(np.array([1]))
        loc = self.node("Unsqueeze", self._loc, axis)
        scale = None if self._scale is None else self.node("Unsqueeze", self._scale, axis)
        score = self.numbers(scores)
        if self._group is not None:
            score = self.node("Gather", score, self._group, axis=0)
        value = score if scale is None else self._widened(scale) * score
        self._output("quantiles", self._guarded(loc + value, scale), ["n", scores.shape[1]])

    def add_cdf(self, laws: list[ScoreLaw]) -> None:
        """Add an output from the laws."""
        z = self._input("y", self.dtype) - self._loc
        if self._scale is not None:
            z = z / self._widened(self._scale)
        if self._group is None:
            value = cdf_formula(_Onnx(self, None), laws, z)
        else:
            value = self._cdf_by_kind(laws, z, self._group)
        self._output("cdf", self._guarded(value, self._scale), ["n"])

    def _cdf_by_kind(self, laws: list[ScoreLaw], z: _Node, group: _Node) -> _Node:
        """Compute one formula per kind of law on all rows; each row takes that of its law."""
        value = self.number(0.0)
        for kind in dict.fromkeys(type(law) for law in laws):
            here = np.array([type(law) is kind for law in laws])
            members = [law for law in laws if type(law) is kind]
            # Rows of another kind read the first law, and their result is dropped.
            place = np.where(here, np.cumsum(here) - 1, 0)
            slot = self.node("Gather", self.constant(place), group)
            own = cdf_formula(_Onnx(self, slot), members, z)
            value = self.node("Gather", self.constant(here), group).where(own, value)
        return value

    def model(self, notes: dict[str, object]) -> ModelProto:
        """Return the checked model."""
        helper = self._onnx.helper
        constants = [tensor for _, tensor in self._constants.values()]
        graph = helper.make_graph(
            self._nodes, "trueline", self._inputs, self._outputs, initializer=constants
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="trueline",
            producer_version=version("trueline"),
            doc_string="Recalibrated quantiles and CDF of a forecast.",
        )
        helper.set_model_props(model, {key: json.dumps(value) for key, value in notes.items()})
        self._onnx.checker.check_model(model, full_check=True)
        return model


class _Onnx(Language[_Node]):
    """ONNX: each row reads the entry of its law from tables."""

    def __init__(self, graph: _Graph, slot: _Node | None) -> None:
        self._graph = graph
        self._slot = slot
        self.degree = 20 if graph.dtype == np.float64 else 12

    def stored(self, a: FloatArray) -> FloatArray:
        return stored(a, self._graph.dtype).astype(np.float64)

    def each(self, values: Sequence[float], *, divisor: bool = False) -> _Node:
        a = np.array(values, np.float64)
        if divisor and a.min() < np.finfo(self._graph.dtype).smallest_normal:
            _raise_out_of_range(float(a.min()), self._graph.dtype)
        return self._of_row(self._graph.numbers(a))

    def piece(
        self,
        z: _Node,
        knots: Sequence[FloatArray],
        columns: Sequence[Sequence[FloatArray]],
        then: Callable[..., _Node],
    ) -> _Node:
        # One array holds the knots of all laws; those of a law begin at `start`.
        graph = self._graph
        sizes = np.array([k.size for k in knots])
        start = self._of_row(graph.constant(np.cumsum(sizes) - sizes))
        last = self._of_row(graph.constant(sizes - 1))
        table = graph.numbers(np.concatenate(knots))
        at = graph.constant(np.array(0))
        for power in reversed(range(int(sizes.max() - 1).bit_length())):
            ahead = graph.node("Min", at + graph.constant(np.array(1 << power)), last)
            knot = graph.node("Gather", table, start + ahead)
            at = graph.node("LessOrEqual", knot, z).where(ahead, at)
        row = start + at
        return then(*(graph.node("Gather", graph.numbers(np.concatenate(c)), row) for c in columns))

    def polynomial(self, coefficients: FloatArray, w: _Node) -> _Node:
        total = self._graph.number(coefficients[0])
        for c in coefficients[1:]:
            total = total * w + float(c)
        return total

    def bind(self, value: _Node, then: Callable[[_Node], _Node]) -> _Node:
        return then(value)

    def _of_row(self, a: _Node) -> _Node:
        """Return the entry of each row's law."""
        slot = self._graph.constant(np.array(0)) if self._slot is None else self._slot
        return self._graph.node("Gather", a, slot)


def stored(a: FloatArray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Round to the type of the model."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = a.astype(dtype)
    if not np.isfinite(rounded).all():
        _raise_out_of_range(float(a[~np.isfinite(rounded)].flat[0]), dtype)
    return rounded


def _raise_out_of_range(value: float, dtype: np.dtype[Any]) -> NoReturn:
    fix = "Use dtype='float64' or change" if dtype == np.float32 else "Change"
    raise ValueError(
        f"the map holds {value:g}, which is out of the range of {dtype}. "
        f"{fix} the unit of the forecasts."
    )
