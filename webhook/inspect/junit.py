"""A report in the JUnit form that CI systems show: a suite for each source, a case for each object."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from webhook.inspect.check import Report, Result
from webhook.inspect.manifests import Broken

__all__ = ["junit"]

# What XML 1.0 can't hold, not even escaped.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """Return the report as XML: a denial is a failure, what can't be judged an error, a warning system-out."""
    root = Element(
        "testsuites",
        name="custom-scheduler check",
        tests=str(len(report.results) + len(report.broken)),
        failures=str(report.count("deny")),
        errors=str(len(report.broken)),
    )
    sources = [result.source for result in report.results] + [broken.source for broken in report.broken]
    for source in dict.fromkeys(sources):
        _suite(
            root,
            source,
            [result for result in report.results if result.source == source],
            [broken for broken in report.broken if broken.source == source],
        )
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}'


def _suite(root: Element, source: str, results: list[Result], broken: list[Broken]) -> None:
    suite = SubElement(
        root,
        "testsuite",
        name=_writable(source),
        tests=str(len(results) + len(broken)),
        failures=str(sum(result.outcome == "deny" for result in results)),
        errors=str(len(broken)),
    )
    for result in results:
        case = _case(suite, source, result.line, result.title)
        told = _writable(
            "\n".join(f"{source}:{finding.line}: {finding.message}" for finding in result.findings)
        )
        if result.outcome == "deny":
            failure = SubElement(case, "failure", type="deny", message=_writable(result.denial))
            failure.text = told
        elif told:
            SubElement(case, "system-out").text = told
    for fault in broken:
        case = _case(suite, source, fault.line or 1, "input")
        SubElement(case, "error", type="broken", message=_writable(fault.fault))


def _case(suite: Element, source: str, line: int, name: str) -> Element:
    return SubElement(
        suite,
        "testcase",
        classname=_writable(source),
        name=_writable(name),
        file=_writable(source),
        line=str(line),
    )


def _writable(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
