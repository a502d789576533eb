"""`make bench-serving`: our webhook beside others that decide the same, under load as an API server sends it."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from bench.load import DENIED_OF, LoadClient, LoadError
from bench.report import Figure, median_ratio, print_figures, print_table
from bench.webhooks import OURS, PEERS, Files, Kind, Webhook, running
from devcluster.build import say_on_stderr
from devcluster.errors import DevClusterError

__all__ = ["MEASURES", "Case", "Sample", "main"]

BENCH = "serving"
SIZES_KB = (3, 9, 90)
# So that every page and every cache is warm.
_WARM_UP_SECONDS = 1.0

# Of each measure, whether more of it is better.
MEASURES = {"req/s": True, "cpu ms": False, "p99 ms": False, "MiB": False}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of one webhook came to, by the unit of each measure; requests given up on; how TLS was spoken."""

    figures: dict[str, float]
    late: int
    tls: str


class Case:
    """One size of body: the samples of each webhook, run by run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.samples: defaultdict[str, list[Sample]] = defaultdict(list)

    def values(self, webhook: str, unit: str) -> list[float]:
        """Return what each run came to."""
        return [sample.figures[unit] for sample in self.samples[webhook]]

    def figures(self) -> Iterator[Figure]:
        """Yield the figures, peer by peer."""
        for peer in [name for name in self.samples if name != OURS.name]:
            for unit in MEASURES:
                yield self._figure(peer, unit)

    def _figure(self, peer: str, unit: str) -> Figure:
        ours, theirs = self.values(OURS.name, unit), self.values(peer, unit)
        return Figure(
            bench=BENCH,
            case=f"{self.name}/{peer}",
            unit=unit,
            ours=round(statistics.median(ours), 3),
            peer=round(statistics.median(theirs), 3),
            ratio=round(median_ratio(ours, theirs, higher_is_better=MEASURES[unit]), 3),
            runs=len(ours),
        )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to measure."""

    runs: int
    seconds: float
    concurrency: int
    rate: float


@click.command(epilog="Example: make bench-serving RUNS=3 SECONDS=1")
@click.option(
    "--runs", type=click.IntRange(1), default=12, show_default=True, help="Rounds through all webhooks."
)
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=1.0, show_default=True, help="Of each loop of each run."
)
@click.option(
    "--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Requests under way at once."
)
@click.option(
    "--rate", type=click.FloatRange(1), default=200.0, show_default=True, help="Requests a second for p99."
)
@click.option(
    "--peer",
    "peers",
    type=click.Choice([peer.name for peer in PEERS]),
    multiple=True,
    help="Compare with this one; default: with all.",
)
def main(*, runs: int, seconds: float, concurrency: int, rate: float, peers: tuple[str, ...]) -> None:
    """Compare our webhook with others that decide the same, in turn, and print medians over the runs.

    req/s and processor time are of a closed loop, p99 is of an open one at a fixed rate."""
    settings = Settings(runs=runs, seconds=seconds, concurrency=concurrency, rate=rate)
    kinds = [OURS, *(peer for peer in PEERS if not peers or peer.name in peers)]
    try:
        cases = measure(kinds, settings)
    except (DevClusterError, LoadError) as error:
        raise click.ClickException(str(error)) from None
    _print(cases, settings)
    print_figures(figure for case in cases for figure in case.figures())


def measure(kinds: Sequence[Kind], settings: Settings) -> list[Case]:
    """Return a case for each size of body; raises LoadError and DevClusterError."""
    programs = [(kind, kind.prepare(say_on_stderr)) for kind in kinds]
    with tempfile.TemporaryDirectory(prefix="bench-serving-") as folder:
        files = Files(Path(folder))
        files.write()
        cases = []
        for size in SIZES_KB:
            case = Case(f"{size}KB")
            client = LoadClient(files.folder, size=size << 10, authority=files.authority, say=say_on_stderr)
            # Started anew for each case, so that no size of body is charged with the memory of another.
            with running(programs, files) as webhooks:
                _fill(case, webhooks, client, settings)
            cases.append(case)
    return cases


def _fill(case: Case, webhooks: Sequence[Webhook], client: LoadClient, settings: Settings) -> None:
    for webhook in webhooks:
        client.closed_loop(webhook, seconds=_WARM_UP_SECONDS, concurrency=settings.concurrency)
    for run in range(settings.runs):
        # There and back, so that nobody has always the moment after another.
        for webhook in webhooks if run % 2 == 0 else reversed(webhooks):
            case.samples[webhook.name].append(_sample(webhook, client, settings))
        rates = ", ".join(
            f"{webhook.name} {case.values(webhook.name, 'req/s')[-1]:,.0f}" for webhook in webhooks
        )
        say_on_stderr(f"{case.name}, run {run + 1} of {settings.runs}, req/s: {rates}")


def _sample(webhook: Webhook, client: LoadClient, settings: Settings) -> Sample:
    before = webhook.cpu_seconds()
    closed = client.closed_loop(webhook, seconds=settings.seconds, concurrency=settings.concurrency)
    used = webhook.cpu_seconds() - before
    pss = webhook.pss_mib()
    paced = client.open_loop(webhook, seconds=settings.seconds, rate=settings.rate)
    figures = {"req/s": closed.rate, "cpu ms": used * 1000 / closed.sent, "p99 ms": paced.p99_ms, "MiB": pss}
    return Sample(figures=figures, late=closed.late + paced.late, tls=closed.tls)


def _print(cases: Sequence[Case], settings: Settings) -> None:
    peers = [name for name in cases[0].samples if name != OURS.name]
    rows = []
    for case in cases:
        for unit in MEASURES:
            row = [case.name, unit, f"{statistics.median(case.values(OURS.name, unit)):,.2f}"]
            for figure in case.figures():
                if figure.unit == unit:
                    row += [f"{figure.peer:,.2f}", f"{figure.ratio:.2f}"]
            rows.append(row)
    print_table(
        f"A webhook under load: {settings.runs} runs of {settings.seconds:g} s, "
        f"{settings.concurrency} requests at once; p99 at {settings.rate:g} requests/s",
        ("body", "", "ours", *(column for peer in peers for column in (peer, "times better"))),
        rows,
    )
    for name, samples in cases[0].samples.items():
        late = sum(sample.late for case in cases for sample in case.samples[name])
        click.echo(f"{name}: {samples[0].tls}" + (f"; {late} requests got no answer in time" if late else ""))
    click.echo(f"One pod of {DENIED_OF} lacks the label; every answer had the right verdict.")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    click.echo(f"Servers and client shared {cores} cores; load {load:.1f} at the end.")


if __name__ == "__main__":
    main()
