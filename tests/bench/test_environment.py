from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.environment import ensure_environment
from devcluster.errors import BuildError
from tests.devcluster.traces import write_program

# Takes the place of Python: as `-m venv FOLDER` makes a Python that notes each call of pip, and says what pip says.
_PYTHON = """
mkdir -p "$3/bin"
cat > "$3/bin/python" <<'END'
#!/bin/sh
echo "$@" >> {calls}
[ -n "{fault}" ] && echo "{fault}" >&2 && exit 1
exit 0
END
chmod +x "$3/bin/python"
"""


@pytest.fixture
def requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A peer's requirements, on a machine with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    _stand_in(tmp_path)
    requirements = tmp_path / "pear" / "requirements.txt"
    requirements.parent.mkdir()
    requirements.write_text("pear==1.0\n")
    return requirements


def _stand_in(folder: Path, fault: str = "") -> None:
    write_program(folder / "python", _PYTHON.format(calls=folder / "calls", fault=fault))


def _ignore(_line: str) -> None:
    pass


def test_an_environment_is_made_once_and_is_none_of_ours(requirements: Path, tmp_path: Path) -> None:
    python = ensure_environment(requirements, say=_ignore)

    assert ensure_environment(requirements, say=pytest.fail) == python
    assert python.is_relative_to(tmp_path / "cache")
    assert f"--requirement {requirements}" in (tmp_path / "calls").read_text()


def test_other_requirements_get_another_environment(requirements: Path) -> None:
    before = ensure_environment(requirements, say=_ignore)

    requirements.write_text("pear==2.0\n")

    assert ensure_environment(requirements, say=_ignore) != before


def test_a_failed_installation_says_why_and_is_tried_again(requirements: Path, tmp_path: Path) -> None:
    _stand_in(tmp_path, fault="No matching distribution found for pear")

    with pytest.raises(BuildError, match="No matching distribution"):
        ensure_environment(requirements, say=_ignore)

    _stand_in(tmp_path)
    assert ensure_environment(requirements, say=_ignore).exists()
