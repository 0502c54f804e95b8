"""The public face: what `import trueline` offers, and what it costs."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import trueline as tl

HOMES = {f"trueline.{module}": names.split() for module, names in tl._PUBLIC.items()}
EXPORTING = [*tl._MODULES, "distributions", "metrics", "recalibration"]
CLASSES = [name for name in tl.__all__ if inspect.isclass(getattr(tl, name))]


def loaded_after(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def names_for_type_checkers() -> dict[str, list[str]]:
    """Module -> names, as the TYPE_CHECKING block of the package imports them."""
    tree = ast.parse(Path(tl.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        node.module: [alias.name for alias in node.names]
        for node in imports
        if node.module is not None and node.module.startswith("trueline.")
    }


def test_every_name_in_all_exists_and_is_listed_once():
    assert len(set(tl.__all__)) == len(tl.__all__)
    for name in tl.__all__:
        assert getattr(tl, name).__name__ == name


def test_dir_lists_all_the_modules_and_the_version():
    assert set(dir(tl)) == {*tl.__all__, *tl._MODULES, "__version__"}
    for name in tl._MODULES:
        assert getattr(tl, name).__name__ == f"trueline.{name}"


def test_star_import_gives_what_all_says():
    namespace: dict[str, object] = {}
    exec("from trueline import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(tl.__all__)


def test_type_checkers_see_the_same_names():
    assert names_for_type_checkers() == HOMES


@pytest.mark.parametrize("home", [home for home in HOMES if "._" not in home])
def test_a_public_module_exports_what_the_top_level_takes_from_it(home):
    exported = import_module(home).__all__
    assert set(HOMES[home]) <= set(exported)
    assert len(set(exported)) == len(exported)


@pytest.mark.parametrize(
    "statement",
    ["import trueline", "import trueline as tl; tl.Normal, tl.Isotonic, tl.evaluate, tl.load"],
)
@pytest.mark.parametrize("module", ["sklearn", "scipy.stats", "matplotlib", "pandas", "torch"])
def test_import_leaves_heavy_modules_alone(statement, module):
    assert module not in loaded_after(statement)


def test_import_alone_loads_no_array_library():
    assert not {"numpy", "scipy"} & loaded_after("import trueline")


def test_a_misspelt_name_gets_a_hint():
    with pytest.raises(AttributeError) as caught:
        tl.Isotnic  # noqa: B018
    expected = "module 'trueline' has no attribute 'Isotnic'; did you mean 'Isotonic'?"
    assert str(caught.value) == expected


def test_an_unknown_name_gets_none():
    with pytest.raises(AttributeError) as caught:
        tl.zzzzzz  # noqa: B018
    assert str(caught.value) == "module 'trueline' has no attribute 'zzzzzz'"


def public_objects():
    """Every name of the top level, and every class and function that a public module exports."""
    homes = [tl, *(import_module(f"trueline.{name}") for name in EXPORTING)]
    for home in homes:
        for name in getattr(home, "__all__", ()):
            public = getattr(home, name)
            if home is tl or inspect.isclass(public) or inspect.isfunction(public):
                yield pytest.param(public, id=f"{home.__name__}.{name}")


@pytest.mark.parametrize("public", list(public_objects()))
def test_every_public_name_has_a_docstring_with_examples(public):
    lines = (public.__doc__ or "").splitlines()
    headings = [line.strip() for line in lines]
    assert "Examples" in headings
    assert set(headings[headings.index("Examples") + 1]) == {"-"}
    assert any(line.startswith(">>> ") for line in headings)


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_is_documented(name):
    members = inspect.getmembers(getattr(tl, name))
    ours = [
        (key, member)
        for key, member in members
        if not key.startswith("_")
        and (inspect.isfunction(member) or inspect.ismethod(member) or isinstance(member, property))
    ]
    assert [key for key, member in ours if not inspect.getdoc(member)] == []


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert tl.__version__ == version("trueline")
