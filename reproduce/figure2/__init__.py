"""Figure 2 of the paper: calibrated classification."""
