"""Statistical methods that know no run folder: block model, intervals, change points, surrogate, scaling laws."""
