"""Every recipe of docs/packages.md runs, as it stands there, where its packages are."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

import environments
import numpy as np
import pytest

import trueline as tl
from conftest import ABSENT, NAME, module

PAGE = Path(__file__).parents[1] / "docs" / "packages.md"

#: What is there in every environment, because trueline or all lists stand on it.
CORE = {"numpy", "pandas", "scipy", "sklearn", "trueline"}

#: Compared with, but not read.
PEERS = {"netcal"}

#: Stores fitted models: docs/sklearn.md shows how, and test_skops.py runs it.
STORES = {"skops"}

#: Weights that have to be downloaded, and a licence to agree to: compiled, not run.
ONLY_COMPILED = {"tabpfn"}


class Recipe(NamedTuple):
    """A block of Python, and the headings that it stands under."""

    section: str
    title: str
    code: str

    @property
    def packages(self) -> set[str]:
        """Modules that it imports, beside those that are always there."""
        found = set()
        for node in ast.walk(ast.parse(self.code)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).partition(".")[0])
        return found - CORE - set(sys.stdlib_module_names)


def blocks() -> list[Recipe]:
    """All blocks of the page, in order."""
    found, section, title = [], "", ""
    pattern = r"^## ([^\n]+)$|^### ([^\n]+)$|^```python\n(.*?)^```$"
    for match in re.finditer(pattern, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        if match[1]:
            section, title = match[1], ""
        elif match[2]:
            title = match[2]
        else:
            found.append(Recipe(section, title, match[3]))
    return found


BLOCKS = blocks()
#: Lines that the recipes of a section go on from stand before its first title.
STARTS = {block.section: block.code for block in BLOCKS if not block.title}
RECIPES = [block for block in BLOCKS if block.title]
HERE = {module(package) for package in environments.listed(NAME)}
LISTED = {module(p) for name in environments.names() for p in environments.listed(name)}
RUN_HERE = [r for r in RECIPES if r.packages <= HERE and not r.packages & ONLY_COMPILED]


def test_every_recipe_runs_in_some_environment():
    lists = [{module(p) for p in environments.listed(n)} for n in environments.names()]
    nowhere = [r.title for r in RECIPES if not any(r.packages <= each for each in lists)]
    assert not nowhere
    assert len(RECIPES) > 20


def test_every_listed_package_has_a_recipe():
    shown = set().union(*(r.packages for r in RECIPES)) | CORE | PEERS | STORES
    assert shown >= HERE


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r.title)
def test_a_recipe_is_short_and_compiles(recipe):
    compile(recipe.code, recipe.title, "exec")
    assert recipe.code.count("\n") <= 45


@pytest.mark.parametrize("recipe", RUN_HERE, ids=lambda r: r.title)
def test_a_recipe_runs(recipe, tmp_path, monkeypatch):
    for package, why in ABSENT.items():
        if module(package) in recipe.packages:
            pytest.skip(f"{package} cannot be installed: {why}")
    monkeypatch.chdir(tmp_path)  # MLflow keeps its runs where it is called
    names: dict[str, object] = {"__name__": "recipe"}
    start = STARTS.get(recipe.section, "")
    for code in (STARTS["Start"], start, recipe.code):
        exec(compile(code, f"docs/packages.md, {recipe.title}", "exec"), names)
    check = check_coverage if "lower" in names else CHECKS[recipe.section, recipe.title]
    check(names)


def check_coverage(names):
    y, lower, upper = (np.asarray(names[key]) for key in ("y_new", "lower", "upper"))
    assert len(y) == len(lower) == len(upper)
    assert np.isfinite([lower, upper]).all()
    # The rows that a map was fitted on and those it is tried on both leave some to chance: 4
    # standard deviations, which is 0.16 for a quarter of the diabetes rows.
    chance = 4 * np.sqrt(0.09 * (1 / len(y) + 1 / len(names["y_cal"])))
    assert abs(((lower <= y) & (y <= upper)).mean() - 0.9) < chance


# ---- what recipes without an interval of new rows leave behind -----------------------


def check_frozen(names):
    G = names["G"]
    np.testing.assert_array_equal(names["upper"], G.ppf(0.9))
    assert names["draws"].shape == (1000, len(G))


def check_tensors(names):
    np.testing.assert_allclose(names["upper"].numpy(), names["G"].ppf(0.9), rtol=1e-12)
    np.testing.assert_allclose(
        float(names["loss"]), tl.log_score(names["y_new"], names["G"]), rtol=1e-9
    )


def check_skpro(names):
    np.testing.assert_allclose(names["upper"].to_numpy()[:, 0], names["G"].ppf(0.9), rtol=1e-12)
    np.testing.assert_allclose(names["loss"], tl.crps(names["y_new"], names["G"]), rtol=1e-9)


def check_pandas(names):
    patients = names["patients"]
    assert names["quantiles"].index.equals(patients.index)
    assert list(names["quantiles"].columns) == [0.1, 0.5, 0.9]
    np.testing.assert_allclose(names["intervals"]["upper"], names["G"].interval(0.9)[1])


def check_polars(names):
    assert len(names["wide"]) == (np.subtract(*names["G"].interval(0.9)[::-1]) > 200).sum()


def check_pyarrow(names):
    assert names["quantiles"].column_names == ["0.1", "0.5", "0.9"]
    assert names["back"].ppf(0.9) == pytest.approx(names["G"].ppf(0.9))


def check_draws(names):
    draws = names["draws"]
    assert dict(draws.sizes) == {"chain": 1, "draw": 500, "patient": len(names["G"])}
    np.testing.assert_array_equal(names["group"]["y"].values, draws.values)


def check_city(names):
    np.testing.assert_allclose(names["F"].mean(), names["draws"].values.mean(axis=0))


def check_numbers(names):
    mean, std = names["mean"], names["std"]
    np.testing.assert_allclose(names["F"].ppf(0.9), mean + std)
    F = tl.as_distribution((mean, std**2), kind="mean_var")
    np.testing.assert_allclose(F.std(), std)


def check_search(names):
    assert set(names["best"]) == {"alpha_1"}
    assert np.isfinite(names["search"].cv_results_["mean_test_score"]).all()


def check_optuna(names):
    trials = names["study"].trials
    assert len(trials) == 5
    assert 20 < names["study"].best_value < 60  # the CRPS of a linear fit is about 31


def check_lightning(names):
    assert 20 < float(names["crps"]) < 60


def check_mlflow(names):
    import mlflow

    logged, run = names["logged"], names["run"]
    assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(logged)
    (page,) = mlflow.MlflowClient().list_artifacts(run.info.run_id, "test")
    assert page.path == "test/report.html"


OUT, LOOPS, IN = "Out again", "Where others run the loop", "Forecasts that are there already"
CHECKS = {
    (IN, "arviz and xarray"): check_city,
    (IN, "Numbers of your own"): check_numbers,
    (OUT, "As scipy's"): check_frozen,
    (OUT, "As torch's"): check_tensors,
    (OUT, "As skpro's"): check_skpro,
    (OUT, "As a pandas frame"): check_pandas,
    (OUT, "As a polars frame"): check_polars,
    (OUT, "As a table of pyarrow"): check_pyarrow,
    (OUT, "As an xarray of draws"): check_draws,
    (LOOPS, "A search of scikit-learn"): check_search,
    (LOOPS, "Optuna"): check_optuna,
    (LOOPS, "Lightning"): check_lightning,
    (LOOPS, "MLflow"): check_mlflow,
}
