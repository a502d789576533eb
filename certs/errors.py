"""What can be wrong with a certificate, as a tree.

CertificateError
├── InvalidPair             garbage, a key of another certificate, not a CA
├── InvalidClientAuthority  garbage where the CA of client certificates should be
├── OutOfDate               right, but not now
│   ├── Expired
│   └── NotYetValid
├── UnreadableFile          missing, not ours to read, or too large
├── NoAuthority             no Secret where the CA should be
├── RotationUnderWay        one CA follows another already
└── SecretConflict          others keep writing the Secret

The text of each is one line that names the thing, what was expected, and the next step.
"""

from __future__ import annotations

__all__ = [
    "CertificateError",
    "Expired",
    "InvalidClientAuthority",
    "InvalidPair",
    "NoAuthority",
    "NotYetValid",
    "OutOfDate",
    "RotationUnderWay",
    "SecretConflict",
    "UnreadableFile",
]


class CertificateError(Exception):
    """Any fault of a certificate that is told to a person in one line."""


class InvalidPair(CertificateError):
    """A certificate and a key that can't be used together, whatever the time."""


class InvalidClientAuthority(CertificateError):
    """What should be the CA of client certificates is none."""


class OutOfDate(CertificateError):
    """A good pair outside the time for which it was issued."""


class Expired(OutOfDate):
    """Its time is over."""


class NotYetValid(OutOfDate):
    """Its time has not begun, or this machine's clock is behind."""


class UnreadableFile(CertificateError):
    """A file that is missing, can't be read, or is larger than any certificate."""


class NoAuthority(CertificateError):
    """There is no Secret with a CA."""


class RotationUnderWay(CertificateError):
    """A CA is being replaced by another already."""


class SecretConflict(CertificateError):
    """Every write of the Secret met a newer one."""
