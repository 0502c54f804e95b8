"""Figures 3 and 6 of the paper: daily sales, forecast by a recurrent network."""
