from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from bench.load import Load, LoadClient, LoadError
from bench.report import Figure, median_ratio
from bench.reviews import UID, pod_review
from bench.serving import MEASURES, Case, Sample, Settings, measure
from bench.webhooks import OURS, PEERS, Files, Webhook, running
from devcluster.build import say_on_stderr


def sample(rate: float, cpu: float) -> Sample:
    return Sample(figures={"req/s": rate, "cpu ms": cpu, "p99 ms": 1.0, "MiB": 10.0}, late=0, tls="TLS 1.3")


def figures(case: Case) -> dict[tuple[str, str], Figure]:
    return {(figure.case, figure.unit): figure for figure in case.figures()}


def test_a_ratio_compares_what_was_measured_one_after_the_other() -> None:
    # The machine was three times slower in the second run, for both.
    ours, peer = [300.0, 100.0, 330.0], [100.0, 50.0, 110.0]

    assert median_ratio(ours, peer, higher_is_better=True) == 3.0


def test_a_ratio_above_one_is_better_also_where_less_is() -> None:
    assert median_ratio([2.0], [6.0], higher_is_better=False) == 3.0


def test_a_run_that_one_of_them_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        median_ratio([1.0, 2.0], [1.0], higher_is_better=True)


def test_each_peer_has_a_figure_for_each_measure() -> None:
    case = Case("9KB")
    case.samples = {"ours": [sample(200, 0.5)] * 3, "go": [sample(100, 1.0)] * 3, "py": [sample(50, 2.0)] * 3}  # type: ignore[assignment]

    found = figures(case)

    assert list(found) == [(f"9KB/{peer}", unit) for peer in ("go", "py") for unit in MEASURES]
    assert found["9KB/go", "req/s"] == Figure(
        bench="serving", case="9KB/go", unit="req/s", ours=200, peer=100, ratio=2, runs=3
    )
    assert found["9KB/py", "cpu ms"].ratio == 4


def test_every_body_carries_the_uid_that_the_client_replaces() -> None:
    body = pod_review(size=9 << 10)

    assert body.count(UID.encode()) == 1
    assert msgspec.json.decode(body)["request"]["uid"] == UID


def test_the_peers_have_names_of_their_own() -> None:
    assert len({kind.name for kind in (OURS, *PEERS)}) == 1 + len(PEERS)


@pytest.mark.e2e
def test_a_round_of_ours_measures_every_size() -> None:
    cases = measure([OURS], Settings(runs=1, seconds=0.2, concurrency=2, rate=50))

    assert [case.name for case in cases] == ["3KB", "9KB", "90KB"]
    for case in cases:
        assert set(case.samples) == {"ours"}
        (found,) = case.samples["ours"]
        assert set(found.figures) == set(MEASURES)
        assert min(found.figures.values()) > 0
        assert found.tls.startswith("TLS 1.3")


@pytest.fixture
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    files = Files(tmp_path_factory.mktemp("files"))
    files.write()
    return files


@pytest.fixture
def webhook(files: Files) -> Iterator[Webhook]:
    with running([(OURS, OURS.prepare(say_on_stderr))], files) as (webhook,):
        yield webhook


def client(files: Files) -> LoadClient:
    return LoadClient(files.folder, size=3 << 10, authority=files.authority, say=say_on_stderr)


def run(client: LoadClient, webhook: Webhook) -> Load:
    return client.closed_loop(webhook, seconds=0.1, concurrency=1)


@pytest.mark.e2e
def test_a_webhook_that_denies_in_other_words_is_no_measurement(files: Files) -> None:
    files.policy.write_text(files.policy.read_text().replace("Pod must have", "There is no"))

    with (
        running([(OURS, OURS.prepare(say_on_stderr))], files) as (webhook,),
        pytest.raises(LoadError, match="ours: the wrong verdict"),
    ):
        run(client(files), webhook)


@pytest.mark.e2e
def test_a_webhook_with_another_authoritys_certificate_is_no_measurement(
    files: Files, webhook: Webhook
) -> None:
    files.write()

    with pytest.raises(LoadError, match="certificate signed by unknown authority"):
        run(client(files), webhook)
