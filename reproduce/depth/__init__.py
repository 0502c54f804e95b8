"""Figure 5 of the paper: the depth of every pixel, forecast by a DenseNet."""
