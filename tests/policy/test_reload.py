from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from tests.policy.files import DEFAULT, OWN_NAMESPACE
from webhook.errors import PolicyError
from webhook.policy.reload import PolicySource

OFF = DEFAULT.replace("workloads: Warn", "workloads: Off")
BROKEN = DEFAULT.replace("workloads: Warn", "workloads: Of")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text(DEFAULT)
    return file


@pytest.fixture
def source(path: Path) -> PolicySource:
    return PolicySource(path, own_namespace=OWN_NAMESPACE)


def test_bad_file_at_start_raises(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(BROKEN)

    with pytest.raises(PolicyError, match=r"spec\.workloads"):
        PolicySource(tmp_path / "policy.yaml", own_namespace=OWN_NAMESPACE)
    with pytest.raises(PolicyError, match="can't be read"):
        PolicySource(tmp_path / "none.yaml", own_namespace=OWN_NAMESPACE)


def test_unchanged_file_keeps_the_very_policy(source: PolicySource) -> None:
    before = source.current

    assert not source.poll()
    assert source.current is before


def test_plain_edit_comes_into_force(source: PolicySource, path: Path) -> None:
    path.write_text(OFF)

    assert source.poll()
    assert source.current.workloads == "Off"
    assert source.current.exempt.namespaces >= {OWN_NAMESPACE, "kube-system"}
    assert not source.poll()


def test_edit_that_keeps_size_and_time_comes_into_force(source: PolicySource, path: Path) -> None:
    times = path.stat()
    path.write_text(DEFAULT.replace("workloads: Warn", "workloads: Deny"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert path.stat().st_size == times.st_size
    assert source.poll()
    assert source.current.workloads == "Deny"


def test_edit_without_meaning_is_no_change(source: PolicySource, path: Path) -> None:
    path.write_text(f"# a comment\n{DEFAULT}")

    assert not source.poll()
    assert source.problem is None


def test_symlink_swap_of_a_config_map_comes_into_force(tmp_path: Path) -> None:
    # As kubelet's AtomicWriter does it: policy.yaml -> ..data/policy.yaml, and ..data is renamed over.
    for version, text in (("..1", DEFAULT), ("..2", OFF)):
        (tmp_path / version).mkdir()
        (tmp_path / version / "policy.yaml").write_text(text)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    source = PolicySource(tmp_path / "policy.yaml", own_namespace=OWN_NAMESPACE)

    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    assert source.poll()
    assert source.current.workloads == "Off"


def test_bad_edit_is_refused_logged_and_counted_once(
    source: PolicySource, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = source.current
    path.write_text(BROKEN)

    with caplog.at_level(logging.INFO, logger="custom_scheduler.policy"):
        assert [source.poll() for _ in range(3)] == [False, False, False]

    fault = f'{path}:9: spec.workloads is "Of"; allowed: Deny, Warn, Off'
    assert source.current is before
    assert source.refused == 1
    assert source.problem == fault
    assert [record.getMessage() for record in caplog.records] == [f"{fault}; the last good policy stays"]


def test_each_bad_edit_counts(source: PolicySource, path: Path) -> None:
    for text in (BROKEN, "spec:", BROKEN):
        path.write_text(text)
        source.poll()

    assert source.refused == 3


def test_good_edit_after_a_bad_one_comes_into_force(source: PolicySource, path: Path) -> None:
    path.write_text(BROKEN)
    source.poll()
    path.write_text(OFF)

    assert source.poll()
    assert source.current.workloads == "Off"
    assert source.problem is None


def test_bad_edit_taken_back_leaves_no_problem(
    source: PolicySource, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(BROKEN)
    source.poll()
    path.write_text(DEFAULT)
    caplog.clear()

    with caplog.at_level(logging.INFO, logger="custom_scheduler.policy"):
        assert not source.poll()

    assert source.problem is None
    assert [record.getMessage() for record in caplog.records] == ["policy default is in force"]


@pytest.mark.parametrize("halfway", [None, "", "\n"])
def test_file_that_is_gone_or_empty_for_a_moment_is_no_fault(
    source: PolicySource, path: Path, halfway: str | None
) -> None:
    if halfway is None:
        path.unlink()
    else:
        path.write_text(halfway)
    during = source.poll()
    path.write_text(OFF)
    after = source.poll()

    assert (during, after) == (False, True)
    assert source.refused == 0
    assert source.problem is None


def test_file_that_stays_away_is_refused_once_and_taken_when_it_returns(
    source: PolicySource, path: Path
) -> None:
    path.unlink()
    for _ in range(4):
        assert not source.poll()
    away = (source.refused, source.problem)
    path.write_text(DEFAULT)
    back = source.poll()

    assert away == (
        1,
        f"{path}: can't be read (No such file or directory); give a file with a PlacementPolicy",
    )
    assert source.current.workloads == "Warn"
    assert (back, source.refused, source.problem) == (False, 1, None)


def test_two_moments_apart_are_no_fault(source: PolicySource, path: Path) -> None:
    for _ in range(2):
        path.unlink()
        source.poll()
        path.write_text(DEFAULT)
        source.poll()

    assert source.refused == 0
