"""Measure the shape of the source: sizes, private imports, type switches, cycles, repetition.

    python benchmarks/house.py            # print each number beside its limit
    python benchmarks/house.py --check    # exit with 1 if a limit is exceeded; make lint runs this
    python benchmarks/house.py --list     # name every place that counts

Files are read as text; nothing is imported.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Lines of code that must be the same to count as repeated.
WINDOW = 6
#: A forecast or a recalibrator of any class: to ask for one of these is a check, not a switch.
BASES = {"Distribution", "Recalibrator"}


@dataclass(frozen=True)
class Measure:
    """One number, its limit, and the places that make it up."""

    name: str
    value: float
    limit: float | None
    places: list[str]
    unit: str = ""
    #: Whether --check enforces the limit.
    enforced: bool = True

    @property
    def exceeded(self) -> bool:
        return self.limit is not None and self.value > self.limit


@dataclass(frozen=True)
class Module:
    """A source file of the library."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def package(self) -> str:
        """The package below trueline that the module belongs to; its own name for a module."""
        return [*self.name.split("."), ""][1]

    def at(self, node: ast.AST) -> str:
        return f"{self.path.as_posix().split('/src/')[-1]}:{getattr(node, 'lineno', 1)}"


def modules(source: Path) -> list[Module]:
    """Every module below a source folder, by its dotted name."""
    found = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def sizes(found: list[Module]) -> Iterator[Measure]:
    """Lines in all, and in the largest package, file and function."""
    by_package: dict[str, int] = defaultdict(int)
    for module in found:
        by_package[module.package] += module.lines
    largest = max(by_package, key=by_package.__getitem__)
    listed = [f"{by_package[name]:6} {name or 'trueline'}" for name in sorted(by_package)]
    yield Measure("modules", len(found), None, [])
    # The total is the goal of the present layout; new features may exceed it.
    total = sum(by_package.values())
    yield Measure("lines in the wheel", total, 38_000, listed, enforced=False)
    yield Measure("lines in the largest package", by_package[largest], 4_500, [largest])
    longest = max(found, key=lambda module: module.lines)
    yield Measure("lines in the longest file", longest.lines, 500, [longest.name])
    functions = [(length(node), module.at(node)) for module in found for node in defined(module)]
    most, where = max(functions)
    yield Measure("lines in the longest function", most, 60, [where])


def defined(module: Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef))


def length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    docstring = docstring_of(function)
    return lines - ((docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0)


def docstring_of(node: ast.AST) -> ast.Expr | None:
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
        return None
    value = body[0].value
    return body[0] if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def private_imports(found: list[Module]) -> Measure:
    """Names that a package imports from private modules of another package."""
    names = set()
    for module in found:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            top, package, *inner = f"{node.module}.".split(".")
            if top != "trueline" or package == module.package or package.startswith("_"):
                continue
            hidden = any(part.startswith("_") for part in inner)
            names |= {
                f"{module.package} <- {node.module}.{alias.name}"
                for alias in node.names
                if hidden or alias.name.startswith("_")
            }
    return Measure("names imported from private modules", len(names), 40, sorted(names))


def type_switches(found: list[Module]) -> Measure:
    """Branches on the class of a forecast or a recalibrator, where a method belongs."""
    classes = subclasses(found)
    places = []
    for module in found:
        for node in ast.walk(module.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "isinstance"
            ):
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
                of_type = ast.unparse(node.left).startswith("type(")
                asked = {ast.unparse(node.comparators[0])} if of_type else set()
            else:
                continue
            if asked & classes:
                places.append(f"{module.at(node)} {ast.unparse(node)}")
    return Measure("type switches", len(places), 10, places)


def subclasses(found: list[Module]) -> set[str]:
    """Names of all classes below `Distribution` and `Recalibrator`."""
    bases = {
        node.name: {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
        for module in found
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    known, size = set(BASES), 0
    while len(known) > size:
        size = len(known)
        known |= {name for name, above in bases.items() if above & known}
    return known - BASES


def cycles(found: list[Module]) -> Measure:
    """Groups of modules that import one another, lazily or not."""
    names = {module.name for module in found}
    graph = {module.name: set(imported(module, names)) - {module.name} for module in found}
    groups = [sorted(group) for group in components(graph) if len(group) > 1]
    return Measure("import cycles", len(groups), 0, [" <-> ".join(group) for group in groups])


def imported(module: Module, names: set[str]) -> Iterator[str]:
    """Modules that a module imports anywhere in it, but not for type checkers alone."""
    for node in outside_type_checking(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module in names:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & names
            yield from inner
            if len(inner) < len(node.names):
                yield node.module


def outside_type_checking(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from outside_type_checking(child)


def components(graph: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components, by Kosaraju's algorithm."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        _visit(start, graph, seen, order)
    back: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            back[target].add(name)
    seen, found = set(), []
    for start in reversed(order):
        group: list[str] = []
        _visit(start, back, seen, group)
        if group:
            found.append(set(group))
    return found


def _visit(name: str, graph: dict[str, set[str]], seen: set[str], order: list[str]) -> None:
    if name not in seen:
        seen.add(name)
        for target in sorted(graph[name]):
            _visit(target, graph, seen, order)
        order.append(name)


def imports_by_string(found: list[Module]) -> Measure:
    """Modules of the library that are imported by a string, which import-linter cannot see.

    The top level does so for every public name, from the table that its type checkers' block
    repeats; it stands above all layers.
    """
    places = [
        f"{module.at(node)} {ast.unparse(node)}"
        for module in found
        if module.name != "trueline"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
        and any(
            word in ast.unparse(node.args[0]) for word in ("trueline", "__name__", "__package__")
        )
    ]
    return Measure("imports by string", len(places), 0, places)


def repetition(found: list[Module]) -> Measure:
    """Share of the lines of code that stand in another place as well, in runs of six or more."""
    code = {module: code_lines(module) for module in found}
    windows: dict[tuple[str, ...], list[tuple[Module, int]]] = defaultdict(list)
    for module, lines in code.items():
        for i in range(len(lines) - WINDOW + 1):
            windows[tuple(text for _, text in lines[i : i + WINDOW])].append((module, i))
    repeated: dict[Module, set[int]] = defaultdict(set)
    for places in windows.values():
        if len(places) > 1:
            for module, i in places:
                repeated[module].update(range(i, i + WINDOW))
    total = sum(len(lines) for lines in code.values())
    share = 100.0 * sum(len(lines) for lines in repeated.values()) / total
    listed = [f"{len(rows):5} {module.name}" for module, rows in repeated.items()]
    return Measure("repeated code", round(share, 2), 3.0, sorted(listed, reverse=True), "%")


def code_lines(module: Module) -> list[tuple[int, str]]:
    """Lines of code, without imports, docstrings, comments and lone punctuation."""
    left_out = set()
    for node in ast.walk(module.tree):
        skipped = node if isinstance(node, ast.Import | ast.ImportFrom) else docstring_of(node)
        if skipped is not None:
            left_out.update(range(skipped.lineno, (skipped.end_lineno or 0) + 1))
    lines = enumerate(module.text.splitlines(), 1)
    kept = ((i, " ".join(line.split("  # ")[0].split())) for i, line in lines if i not in left_out)
    return [(i, text) for i, text in kept if text.strip("()[]{},") and not text.startswith("#")]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="default: src")
    parser.add_argument("--check", action="store_true", help="exit with 1 above a limit")
    parser.add_argument("--list", action="store_true", help="name every place that counts")
    options = parser.parse_args()
    found = modules(options.source.resolve())
    measures = [
        *sizes(found),
        private_imports(found),
        type_switches(found),
        cycles(found),
        imports_by_string(found),
        repetition(found),
    ]
    for m in measures:
        limit = "" if m.limit is None else f"at most {m.limit:,.10g}{m.unit}"
        mark = "  <- above the limit" if m.exceeded else ""
        broken = m.exceeded and m.enforced
        if not options.check or broken:
            print(f"{m.name:<38}{m.value:>10,.10g}{m.unit:<2} {limit}{mark}")
        if options.list or (options.check and broken):
            print("".join(f"    {place}\n" for place in m.places), end="")
    sys.exit(options.check and any(m.exceeded and m.enforced for m in measures))


if __name__ == "__main__":
    main()
