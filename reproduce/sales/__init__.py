"""What the experiments with daily sales share: the data, the networks, and weekly means."""
