"""One scheme of loggers, so that an admin can turn up a part, and a reader guess where a line comes from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Who looks for denials doesn't think of the package that logs them.
NAMED_FOR_ADMINS = {"webhook/server/request_log.py": "custom_scheduler.admission"}


def loggers() -> Iterator[tuple[str, str, ast.expr]]:
    """Yield module, variable and name of each logger that a module has."""
    for path in sorted([*ROOT.glob("webhook/**/*.py"), *ROOT.glob("certs/**/*.py")]):
        for node in ast.parse(path.read_text()).body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=variable)],
                    value=ast.Call(func=ast.Attribute(attr="getLogger"), args=[name]),
                ):
                    yield str(path.relative_to(ROOT)), variable, name


@pytest.mark.parametrize(
    ("module", "variable", "name"), [pytest.param(*each, id=each[0]) for each in loggers()]
)
def test_a_logger_is_called_log_and_named_after_its_package(
    module: str, variable: str, name: ast.expr
) -> None:
    root, package, *_ = Path(module).parts
    part = "certs" if root == "certs" else f"custom_scheduler.{package.removesuffix('.py')}"
    expected = NAMED_FOR_ADMINS.get(module, part)

    assert variable == "log"
    assert ast.literal_eval(name) == expected
