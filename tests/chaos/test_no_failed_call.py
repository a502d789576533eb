"""A cluster that depends on the webhook, with failurePolicy Fail and a call every 10 ms: none of them fails.

What an admin does day in and day out happens meanwhile: docs/notes/no-failed-call.md. CHAOS_CALLS=6000 makes it so many calls a scenario.
"""

from __future__ import annotations

import pytest

from tests.chaos.conftest import Play
from tests.chaos.protocol import Result

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def assert_no_failed_call(result: Result) -> None:
    assert result.fault == ""
    if result.failed:
        pytest.fail(
            f"{result.failed} of {result.calls} calls failed. A busy machine? The load itself was up to "
            f"{result.latest_ms:.0f} ms late. The first of them:\n" + "\n".join(result.faults),
            pytrace=False,
        )
    assert (result.fail_open, result.failed_closed) == (0, 0)


def test_while_a_ca_rotates(play: Play) -> None:
    result = play("a_ca_rotates")

    assert_no_failed_call(result)
    assert result.proof["phases"][0] == "published"


def test_while_leaves_renew(play: Play) -> None:
    assert_no_failed_call(play("leaves_renew"))


def test_while_one_of_two_pods_is_deleted_and_replaced(play: Play) -> None:
    assert_no_failed_call(play("a_pod_is_deleted"))


def test_while_one_of_two_processes_gets_sigterm_and_is_started_again(play: Play) -> None:
    assert_no_failed_call(play("a_process_gets_sigterm"))


def test_while_the_deployment_restarts(play: Play) -> None:
    assert_no_failed_call(play("the_deployment_restarts"))


def test_while_the_policy_changes_fifty_times(play: Play) -> None:
    assert_no_failed_call(play("the_policy_changes"))


def test_while_the_manifests_are_applied_again(play: Play) -> None:
    assert_no_failed_call(play("the_manifests_are_applied_again"))


def test_while_certificates_of_others_take_over_and_give_way_again(play: Play) -> None:
    assert_no_failed_call(play("files_mode_comes_and_goes"))


def test_but_a_stop_without_preparation_fails_calls(play: Play) -> None:
    result = play("every_stop_is_a_kill")

    assert result.fault == ""
    assert result.failed > 0
    assert result.fail_open > 0
    assert result.failed_closed > 0


def test_but_a_wiped_bundle_fails_calls_until_it_is_back(play: Play) -> None:
    result = play("a_wiped_bundle_comes_back")

    assert result.fault == ""
    # Half a second of quiet, a look, a write, and the API server's own watch; the rest is for a busy machine.
    assert result.failed < 500
