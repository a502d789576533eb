"""What Kubernetes accepts as a label key, a label value and a name.

Source: k8s.io/apimachinery pkg/api/validate/content (labels and DNS-1123 names).
"""

from __future__ import annotations

import re

__all__ = [
    "DNS_LABEL",
    "DNS_NAME",
    "LABEL_KEY",
    "LABEL_VALUE",
    "is_dns_label",
    "is_dns_subdomain",
    "is_label_key",
    "is_label_value",
]

# The rules as an error tells them: "expected …".
LABEL_KEY = "a label key: up to 63 letters, digits, '-', '_', '.', which may follow a DNS name and '/'"
LABEL_VALUE = "a label value: up to 63 letters, digits, '-', '_', '.', with a letter or digit at both ends"
DNS_LABEL = "up to 63 lower-case letters, digits and '-', with a letter or digit at both ends"
DNS_NAME = "a name: up to 253 lower-case letters, digits, '-' and '.', with a letter or digit at both ends"

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_NAME_LENGTH = 63
_SUBDOMAIN_LENGTH = 253


def is_label_key(text: str) -> bool:
    """Tell whether `text` is a qualified name: `[prefix/]name`."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= _NAME_LENGTH and _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Tell whether `text` is a label's value; the empty text is one."""
    return not text or (len(text) <= _NAME_LENGTH and _NAME.fullmatch(text) is not None)


def is_dns_label(text: str) -> bool:
    """Tell whether `text` is a DNS-1123 label, as a namespace's name must be."""
    return len(text) <= _NAME_LENGTH and _DNS_LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Tell whether `text` is a DNS-1123 subdomain, as most objects' names must be."""
    return len(text) <= _SUBDOMAIN_LENGTH and _DNS_SUBDOMAIN.fullmatch(text) is not None
