"""Forecasts out again: as what other libraries take, as tables, as draws, and as numbers to log.

`trueline.as_distribution` takes forecasts in. These give a forecast, recalibrated or not, back in
the form that the rest of a program speaks, and score it where other libraries run the loop:

=================  =================================================================================
`to_scipy`         a frozen distribution, with the methods of those of ``scipy.stats``
`to_torch`         a ``torch.distributions.Distribution``
`to_skpro`         a distribution of skpro, with index and columns
`to_frame`         quantiles or intervals as a table of pandas, polars or pyarrow
`to_xarray`        draws with named dimensions, as arviz reads them
=================  =================================================================================

No other library is imported before the function that needs it is called.

>>> import trueline as tl
>>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 0.1)  # far too sure of itself
>>> G = tl.Isotonic().fit([-2.0, -0.5, 0.5, 2.0], F).transform(F)
>>> tl.interop.to_scipy(G).ppf(0.8).round(2)
array([2., 2., 2., 2.])
"""

from trueline.interop._convert import as_distribution
from trueline.interop._frame import to_frame
from trueline.interop._predictive import register_reader, unregister_reader
from trueline.interop._scipy import to_scipy
from trueline.interop._skpro import to_skpro
from trueline.interop._torch import to_torch
from trueline.interop._xarray import to_xarray

__all__ = [
    "as_distribution",
    "register_reader",
    "to_frame",
    "to_scipy",
    "to_skpro",
    "to_torch",
    "to_xarray",
    "unregister_reader",
]
