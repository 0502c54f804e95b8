"""Support of ``torch.distributions``."""
