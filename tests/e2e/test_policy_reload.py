"""A policy that changes on disk while the API server asks all the time.

Every webhook of ours fails open, so a request that `serve` lost would show as a pod that was let in.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.cluster import DevCluster
from devcluster.errors import RequestError
from devcluster.installation import Installation
from tests.waiting import eventually
from webhook.policy.parse import load_policy

NAMESPACE = "asking"
IN_FORCE_SECONDS = 2.0


def policy(message: str) -> str:
    return (
        "apiVersion: custom-scheduler.io/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: changing}\n"
        f"spec: {{requiredLabels: [{{key: custom, message: {message}}}]}}\n"
    )


class ConfigMapVolume:
    """A folder as the kubelet keeps it for a ConfigMap: k8s.io/kubernetes pkg/volume/util/atomic_writer.go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "policy.yaml"
        self._written = 0
        folder.mkdir()
        self.write(policy("first"))
        self.file.symlink_to("..data/policy.yaml")

    def write(self, text: str) -> None:
        """Put the text into a new folder, point `..data` there in one step, and delete the old folder."""
        data, new_data = self.folder / "..data", self.folder / "..data_tmp"
        before = data.resolve() if data.is_symlink() else None
        self._written += 1
        payload = self.folder / f"..2026_11_30_{self._written}"
        payload.mkdir()
        (payload / "policy.yaml").write_text(text)
        new_data.symlink_to(payload.name)
        new_data.rename(data)
        if before is not None:
            (before / "policy.yaml").unlink()
            before.rmdir()


@dataclass(frozen=True)
class Answer:
    asked: float  # when, by the monotonic clock
    text: str

    @property
    def message(self) -> str:
        """The message of the policy that denied; the whole text where none did."""
        denied = re.search(r"denied the request: (\w+): ", self.text)
        return denied[1] if denied else self.text


class Questions:
    """Pods created for show by two threads, one after another, and what the API server said to each."""

    def __init__(self, cluster: DevCluster) -> None:
        self.answers: list[Answer] = []
        self._cluster = cluster
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(2)]

    def __enter__(self) -> Questions:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, message: str) -> Answer:
        """The first answer with the message."""
        return eventually(
            lambda: next((answer for answer in list(self.answers) if answer.message == message), None),
            f"an answer that says {message}",
        )

    def _ask(self) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bare"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        while not self._stop.is_set():
            asked = time.monotonic()
            try:
                self._cluster.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All", body)
            except RequestError as error:
                self.answers.append(Answer(asked, str(error)))
            else:
                self.answers.append(Answer(asked, "let in"))


@pytest.fixture(scope="module")
def asking() -> Iterator[DevCluster]:
    with DevCluster(scheduler=False, controller_manager=False) as cluster:
        cluster.add_namespace(NAMESPACE, labels={"custom-scheduler.io/enforce": "deny"})
        yield cluster


@contextmanager
def serving(cluster: DevCluster, file: Path) -> Iterator[Installation]:
    with (
        Installation(cluster, policy=file, options=["--no-binder"]) as installation,
        Questions(cluster) as questions,
    ):
        # The API server hears of the configuration, and of its caBundle, by a watch.
        questions.wait_for("first")
        yield installation


def metric(installation: Installation, name: str) -> float:
    _, text = installation.ops("/metrics")
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return float(line.split()[1])


def generation(installation: Installation) -> float:
    return metric(installation, "custom_scheduler_policy_generation")


def plain_edit(folder: Path) -> tuple[Path, Callable[[str], object]]:
    file = folder / "policy.yaml"
    file.write_text(policy("first"))
    return file, file.write_text


def symlink_swap(folder: Path) -> tuple[Path, Callable[[str], object]]:
    volume = ConfigMapVolume(folder / "volume")
    return volume.file, volume.write


@pytest.mark.parametrize("way", [plain_edit, symlink_swap])
def test_a_new_policy_answers_within_two_seconds_and_no_request_is_lost(
    asking: DevCluster, tmp_path: Path, way: Callable[[Path], tuple[Path, Callable[[str], object]]]
) -> None:
    file, change = way(tmp_path)

    with serving(asking, file) as installation, Questions(asking) as questions:
        questions.wait_for("first")
        before = generation(installation)
        change(policy("second"))
        changed = time.monotonic()
        first_new = questions.wait_for("second")
        after = generation(installation)

    assert first_new.asked - changed < IN_FORCE_SECONDS
    assert len(questions.answers) > 20
    assert {"first", "second"} == {answer.message for answer in questions.answers}
    assert before != after == load_policy(file, own_namespace="custom-scheduler").generation


def test_a_bad_policy_is_refused_logged_and_counted_while_the_last_good_one_answers(
    asking: DevCluster, tmp_path: Path
) -> None:
    volume = ConfigMapVolume(tmp_path / "volume")

    with serving(asking, volume.file) as installation:
        before = generation(installation)
        volume.write("spec: {requiredLabels: [{kye: custom}]}\n")
        failures = eventually(
            lambda: metric(installation, "custom_scheduler_policy_reload_failures_total"), "a refused policy"
        )
        with Questions(asking) as questions:
            questions.wait_for("first")
        still = generation(installation)
        log = installation.log_file.read_text()
        volume.write(policy("mended"))
        with Questions(asking) as later:
            later.wait_for("mended")

    assert failures == 1
    assert still == before
    assert "the last good policy stays" in log
    assert str(volume.file) in log
    assert {answer.message for answer in questions.answers} == {"first"}
