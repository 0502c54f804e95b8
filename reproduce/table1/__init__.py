"""Table 1 of the paper: eight data sets and four models, before and after recalibration."""
