"""Table 2 of the paper: orders of a perishable item, planned with forecasts of its sales."""
