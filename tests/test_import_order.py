"""Holds the order of the house: higher floors import lower ones, never the reverse, never sideways."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Top floor first. Packages on one floor do not know each other.
FLOORS = [
    ["config"],
    ["cli"],
    ["mcp_endpoint"],
    ["knowledge"],
    ["search"],
    ["skills"],
    ["tools_catalog"],
    ["tenants"],
    ["embeddings", "llm"],
    ["core", "demo_server"],
]
LEVEL = {package: len(FLOORS) - i for i, floor in enumerate(FLOORS) for package in floor}

# Inside an app, from the entry points down.
LAYERS = [
    ["urls", "admin", "templatetags", "management"],
    ["admin_schedule", "admin_servers", "admin_syncs", "admin_tools"],
    ["admin_base"],
    ["api", "api_client_types", "api_gateway", "api_import", "suggestions_api"],
    ["tasks", "schemas", "serializers", "fields", "reports"],
    ["services"],
    ["files"],
    ["limits"],
    ["classifiers", "strategies"],
    ["stages"],
    ["bodies", "lists", "query_vectors", "ranking", "visible"],
    ["selectors", "sessions", "lexical"],
    [
        *["chunking", "filters", "metadata", "models", "published", "readers", "rerankers", "snippets", "text"],
        *["transports", "config_file", "acceptance", "literal_secrets", "json_schemas"],
    ],
    ["arguments", "comparison", "inspection", "typescript"],
    ["types", "fusion", "apps", "migrations", "patterns", "plans"],
]
LAYER = {name: len(LAYERS) - i for i, layer in enumerate(LAYERS) for name in layer}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every imported module, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "relative imports hide where things are"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(package: str) -> Iterator[tuple[str, ast.AST]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts), ast.parse(path.read_text())


def test_every_package_has_a_floor() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "benchmarks", "training"} == set(LEVEL)


def test_no_floor_imports_a_higher_one_or_a_neighbour() -> None:
    wrong = [
        f"{module} imports {target}"
        for package, level in LEVEL.items()
        for module, tree in sources(package)
        for target in imports(tree)
        for other in [target.split(".")[0]]
        if other in LEVEL and other != package and LEVEL[other] >= level
    ]
    assert wrong == []


def test_no_layer_of_an_app_imports_a_higher_one() -> None:
    wrong = [
        f"{module} imports {target}"
        for package in LEVEL
        for module, tree in sources(package)
        for target in imports(tree)
        for mine, theirs in [(module.split("."), target.split("."))]
        if theirs[0] == package and len(mine) > 1 and len(theirs) > 1
        if LAYER.get(mine[1], 0) and LAYER.get(theirs[1], 0) > LAYER[mine[1]]
    ]
    assert wrong == []


def test_services_never_import_tasks() -> None:
    wrong = [
        f"{module} imports {target}"
        for package in LEVEL
        for module, tree in sources(package)
        if ".services" in module
        for target in imports(tree)
        if target.endswith(".tasks")
    ]
    assert wrong == []


def test_only_the_product_and_its_tests_are_imported() -> None:
    """Nothing in the product needs the tests, the benchmarks or the training code."""
    wrong = [
        f"{module} imports {target}"
        for package in LEVEL
        for module, tree in sources(package)
        for target in imports(tree)
        if target.split(".")[0] in {"tests", "benchmarks", "training"}
    ]
    assert wrong == []
