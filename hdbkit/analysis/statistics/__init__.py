"""Statistical methods that know no run folder: block model, intervals, change points, surrogate, scaling laws."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
