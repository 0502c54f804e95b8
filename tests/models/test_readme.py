"""The lines of Python in the README on images run."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
README = Path(__file__).parents[2] / "README.md"


def pictures(seed, n):
    """The brighter the further, but for noise; and some pixels without a depth."""
    rng = np.random.default_rng(seed)
    images = rng.integers(256, size=(n, 16, 24, 3), dtype=np.uint8)
    depth = 1.0 + images[..., 0] / 100.0 + rng.normal(0.0, 0.3, images.shape[:3])
    mask = rng.uniform(size=depth.shape) < 0.95
    return images, np.where(mask, depth, np.nan), mask


def test_images(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (text,) = [block for block in blocks if "fit_batches" in block]
    assert text.count("n_epochs=20") == 1
    names = {}
    for seed, (start, n) in enumerate({"": 16, "held_": 24, "new_": 40}.items()):
        parts = zip(("images", "depth", "mask"), pictures(seed, n), strict=True)
        names |= {f"{start}{name}": part for name, part in parts}
    small = text.replace("n_epochs=20", "n_epochs=2, growth_rate=8, n_samples=10")
    exec(compile(small, "README.md", "exec"), names)
    out = capsys.readouterr().out
    assert out.startswith(f"Evaluation of {names['new_mask'].sum():,} rows")
    assert (tmp_path / "network.safetensors").is_file()
    found = names["evaluate_batches"](
        names["batches"](names["new_images"], names["new_depth"], names["new_mask"]), names["R"]
    )
    # Noise is independent, but 24 and 40 images share one network: four standard errors of
    # independent pixels.
    n_fit, n_test = names["held_mask"].sum(), names["new_mask"].sum()
    error = np.sqrt(0.09 * (1 / n_fit + 1 / n_test))
    assert abs(found.overall.coverage - 0.9) < 4 * error
