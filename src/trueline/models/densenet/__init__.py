"""A fully convolutional DenseNet with dropout: a forecast per pixel."""
