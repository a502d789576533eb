"""`serve` as a person starts it: what goes wrong is one line, what goes right answers reviews with no cluster."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import trustme
import urllib3

from devcluster.ports import free_port
from tests.admission.reviews import body, pod
from tests.waiting import eventually

POLICY = Path(__file__).parents[2] / "manifests/base/policy.yaml"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def pair(ca: trustme.CA, tmp_path: Path) -> list[str]:
    leaf = ca.issue_cert("localhost", "127.0.0.1")
    certificate, key = tmp_path / "tls.pem", tmp_path / "key.pem"
    certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    key.write_bytes(leaf.private_key_pem.bytes())
    return ["--tls-cert", str(certificate), "--tls-key", str(key)]


def command(*options: str, server: str = "serve") -> list[str]:
    addresses = ["--host", "127.0.0.1", "--ops-host", "127.0.0.1", "--ops-port", str(free_port())]
    return [sys.executable, "-m", "webhook", server, *addresses, *options]


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def refusal(home: Path, *options: str) -> str:
    """Start `serve`, expect exit code 2 and one line, and return that line."""
    ended = subprocess.run(
        command(*options), capture_output=True, text=True, timeout=60, check=False, env=environment(home)
    )
    lines = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert ended.returncode == 2, ended.stderr
    assert len(lines) == 1
    assert "Traceback" not in ended.stderr
    return lines[0]


@contextmanager
def serving(
    home: Path, port: int, *options: str, server: str = "serve", environ: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command("--port", str(port), *options, server=server),
        stderr=subprocess.DEVNULL,
        env=environ or environment(home),
    )
    try:
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield process
    finally:
        process.terminate()
        process.wait(30)


def replace_worker(process: subprocess.Popen[bytes]) -> None:
    """Kill the only worker and wait for the next."""

    def worker() -> int:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return int(children[0]) if children else 0

    first = eventually(worker, "a worker")
    os.kill(first, signal.SIGKILL)
    eventually(lambda: worker() not in (0, first), "another worker")


def test_offline_answers_a_review_from_the_policy_and_stops_on_sigterm(
    ca: trustme.CA, pair: list[str], tmp_path: Path
) -> None:
    port = free_port()
    context = ssl.create_default_context()
    ca.configure_trust(context)
    options = ["--offline", "--policy", str(POLICY), "--drain-seconds", "0", *pair]
    with serving(tmp_path, port, *options) as process:
        with urllib3.HTTPSConnectionPool("localhost", port, ssl_context=context, timeout=10) as pool:
            answer = pool.request("POST", "/validate", body=body(pod()), headers=JSON).json()
        process.terminate()
        code = process.wait(30)

    assert answer["response"]["allowed"] is False
    assert answer["response"]["status"]["message"].startswith("Pod must have custom label")
    assert code == 0


def test_a_worker_that_is_replaced_while_the_policys_file_is_bad_has_the_last_good_one(
    ca: trustme.CA, pair: list[str], tmp_path: Path
) -> None:
    def told() -> str:
        """Return the message of a denial, by whichever worker there is."""
        try:
            with urllib3.HTTPSConnectionPool("localhost", port, ssl_context=context, timeout=10) as pool:
                answer = pool.request(
                    "POST", "/validate", body=body(pod()), headers=JSON, retries=False
                ).json()
        except urllib3.exceptions.HTTPError:
            return ""
        message: str = answer["response"]["status"]["message"]
        return message

    port = free_port()
    context = ssl.create_default_context()
    ca.configure_trust(context)
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.read_text().replace("Pod must have custom label", "At the start"))
    with serving(
        tmp_path, port, "--offline", "--policy", str(policy), "--drain-seconds", "0", *pair
    ) as process:
        eventually(lambda: told().startswith("At the start"), "the first policy")
        policy.write_text(POLICY.read_text().replace("Pod must have custom label", "Since then"))
        eventually(lambda: told().startswith("Since then"), "the second policy")
        policy.write_text("kind: nonsense")
        replace_worker(process)

        message = eventually(told, "an answer")

    assert message.startswith("Since then")


def test_a_worker_that_is_replaced_while_the_pairs_files_are_bad_serves_the_pair_of_the_start(
    ca: trustme.CA, pair: list[str], tmp_path: Path
) -> None:
    def handshake() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
                context.wrap_socket(sock, server_hostname="localhost").close()
        except OSError:
            return False
        return True

    port = free_port()
    context = ssl.create_default_context()
    ca.configure_trust(context)
    options = ["--offline", "--policy", str(POLICY), "--drain-seconds", "0", *pair]
    with serving(tmp_path, port, *options) as process:
        Path(pair[1]).write_text("half a file")
        replace_worker(process)

        eventually(handshake, "a handshake with the new worker")


def test_a_broken_policy_is_named_with_the_place_of_its_fault(pair: list[str], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.read_text().replace("action: Deny", "action: Forbid"))

    told = refusal(tmp_path, "--offline", "--policy", str(policy), *pair)

    assert str(policy) in told
    assert "spec.requiredLabels[0].action" in told


def test_a_missing_policy_is_named(pair: list[str], tmp_path: Path) -> None:
    assert "absent.yaml" in refusal(tmp_path, "--offline", "--policy", "absent.yaml", *pair)


def test_a_missing_certificate_is_named(pair: list[str], tmp_path: Path) -> None:
    Path(pair[1]).unlink()

    assert pair[1] in refusal(tmp_path, "--offline", "--policy", str(POLICY), *pair)


def test_a_key_of_another_certificate_is_refused(ca: trustme.CA, pair: list[str], tmp_path: Path) -> None:
    Path(pair[3]).write_bytes(ca.issue_cert("other").private_key_pem.bytes())

    assert pair[3] in refusal(tmp_path, "--offline", "--policy", str(POLICY), *pair)


def test_a_taken_port_is_named_with_the_option_that_changes_it(pair: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        told = refusal(tmp_path, "--offline", "--policy", str(POLICY), "--port", port, *pair)

    assert f"127.0.0.1:{port}" in told
    assert "--port" in told


def test_no_cluster_at_all_is_told_with_the_ways_to_name_one(tmp_path: Path) -> None:
    assert "--kubeconfig" in refusal(tmp_path, "--policy", str(POLICY))


def test_a_broken_scheduler_configuration_is_named(pair: list[str], tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    broken = tmp_path / "scheduler.yaml"
    broken.write_text("apiVersion: custom-scheduler.io/v1alpha1\nkind: SchedulerConfiguration\nprofile: []\n")

    told = refusal(
        tmp_path,
        "--policy",
        str(POLICY),
        "--kubeconfig",
        str(kubeconfig),
        "--scheduler-config",
        str(broken),
        *pair,
    )

    assert str(broken) in told
    assert "profile" in told


def test_files_mode_serves_while_the_api_server_cannot_be_reached(
    ca: trustme.CA, pair: list[str], tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(KUBECONFIG)
    port = free_port()
    context = ssl.create_default_context()
    ca.configure_trust(context)

    options = ["--policy", str(POLICY), "--kubeconfig", str(kubeconfig), "--drain-seconds", "0", *pair]
    with (
        serving(tmp_path, port, *options) as process,
        urllib3.HTTPSConnectionPool("localhost", port, ssl_context=context, timeout=10) as pool,
    ):
        answer = pool.request("POST", "/validate", body="{", headers=JSON)
        still_running = process.poll() is None

    assert answer.status == 400
    assert still_running


@pytest.mark.parametrize("server", ["serve", "extender"])
@pytest.mark.parametrize(
    ("options", "is_served"),
    [([], False), (["--tls-min-version", "1.3"], False), (["--tls-min-version", "1.2"], True)],
)
def test_a_client_of_tls_1_2_is_served_where_that_is_asked_for_alone(
    ca: trustme.CA, pair: list[str], tmp_path: Path, server: str, options: list[str], is_served: bool
) -> None:
    port = free_port()
    client = ssl.create_default_context()
    ca.configure_trust(client)
    ca.issue_cert("client").configure_cert(client)
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    expected = nullcontext() if is_served else pytest.raises(ssl.SSLError, match="alert protocol version")

    authority, kubeconfig = tmp_path / "ca.pem", tmp_path / "config"
    authority.write_bytes(ca.cert_pem.bytes())
    kubeconfig.write_text(KUBECONFIG)
    its_own = {
        "serve": ["--offline", "--policy", str(POLICY)],
        "extender": ["--kubeconfig", str(kubeconfig)],
    }
    shared = [*pair, "--client-ca", str(authority), "--drain-seconds", "0"]
    with (
        serving(tmp_path, port, *shared, *its_own[server], *options, server=server),
        expected,
        socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
        client.wrap_socket(raw, server_hostname="localhost") as connection,
    ):
        assert connection.version() == "TLSv1.2"


def test_the_metrics_of_a_server_that_was_killed_are_gone_when_the_next_has_started(
    pair: list[str], tmp_path: Path
) -> None:
    def folders() -> list[Path]:
        return list(tmp_path.glob("custom-scheduler-metrics-*"))

    options = ["--offline", "--policy", str(POLICY), "--drain-seconds", "0", *pair, "--workers"]
    environ = environment(tmp_path) | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command("--port", str(free_port()), *options, "2"),
        stderr=subprocess.DEVNULL,
        env=environ,
        start_new_session=True,
    ) as process:
        (left,) = eventually(folders, "the folder of metrics")
        os.killpg(process.pid, signal.SIGKILL)

    for workers in "21":
        with serving(tmp_path, free_port(), *options, workers, environ=environ):
            assert left not in folders()

    assert folders() == []


# Port 9 is discard: nothing listens there, so a connection is refused at once.
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: nobody, user: {token: none}}]
"""


def test_a_webhook_without_the_binder_loads_none_of_it() -> None:
    program = "import sys, webhook.commands.serve; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not {"numpy", "webhook.binder.service", "webhook.scheduling"} & set(loaded.stdout.split())
