"""Forecasts and models of other libraries: read, converted, and given out again.

`as_distribution` converts a forecast of another library, `read_forecast` reads that of a fitted
model, and these functions convert a forecast, recalibrated or not, to the types of others:

=================  =================================================================================
`to_scipy`         a frozen distribution, with the methods of those of ``scipy.stats``
`to_torch`         a ``torch.distributions.Distribution``
`to_skpro`         a distribution of skpro, with index and columns
`to_frame`         quantiles or intervals as a table of pandas, polars or pyarrow
`to_xarray`        draws with named dimensions, as arviz reads them
=================  =================================================================================

All that concerns one library is in one module or subpackage. No library is imported before the
function that needs it is called.

>>> import trueline as tl
>>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 0.1)  # far too narrow
>>> G = tl.Isotonic().fit([-2.0, -0.5, 0.5, 2.0], F).transform(F)
>>> tl.interop.to_scipy(G).ppf(0.8).round(2)
array([2., 2., 2., 2.])
"""

from trueline.interop._arguments import (
    ForecastLike as ForecastLike,
    check_forecast as check_forecast,
)
from trueline.interop._as_distribution import as_distribution
from trueline.interop._readers import (
    ForecastReader,
    read_forecast,
    register_reader,
    unregister_reader,
)
from trueline.interop._scipy.outgoing import to_scipy
from trueline.interop._skpro.outgoing import to_skpro
from trueline.interop._tables.outgoing import to_frame
from trueline.interop._torch.outgoing import to_torch
from trueline.interop._xarray.outgoing import to_xarray

__all__ = [
    "ForecastReader",
    "as_distribution",
    "read_forecast",
    "register_reader",
    "to_frame",
    "to_scipy",
    "to_skpro",
    "to_torch",
    "to_xarray",
    "unregister_reader",
]
