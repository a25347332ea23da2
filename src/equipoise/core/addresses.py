"""Hosts, ports and URLs that users give, and why a connection failed: each is read here, and nowhere else.

What no system can look up is refused before anything is sent: empty names and labels, labels of more than 63
characters, characters that are not ASCII. Python's own readers raise half a dozen different errors for these.
"""

from __future__ import annotations

import errno
import re
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from equipoise.core.digits import whole_number
from equipoise.core.errors import InputError, shown

MOST_PORT = 65535
MOST_SHOWN = 200  # characters of an address in a message
_MOST_HOST = 253
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")
_IP = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]{1,15})?")  # with the name of an interface
_IN_URLS = re.compile(r"[!-~]+")
_REASONS = {
    errno.ECONNREFUSED: "nothing listens there",
    errno.EADDRINUSE: "another program uses this port",
    errno.EADDRNOTAVAIL: "this machine does not have this address",
    errno.EACCES: "the system does not allow it",
    errno.ENETUNREACH: "this network cannot be reached",
    errno.EHOSTUNREACH: "this host cannot be reached",
    errno.ECONNRESET: "the other side closed the connection",
    errno.EPIPE: "the other side closed the connection",
    errno.ETIMEDOUT: "there was no answer in time",
}


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_port(text: str | int, least: int = 1) -> int:
    """A port; 0, any free one, where `least` allows it."""
    port = text if isinstance(text, int) else whole_number(text)
    if port is None or not least <= port <= MOST_PORT:
        raise InputError(f"{shown(text)} is not a port", remedy=f"use a number from {least} to {MOST_PORT:,}")
    return port


def read_host(text: str) -> str:
    """A host: a name, or an IP address."""
    if _IP.fullmatch(text):
        with suppress(ValueError):
            return str(ip_address(text))
    labels = text.removesuffix(".").split(".")
    if len(text) > _MOST_HOST or not all(map(_LABEL.fullmatch, labels)) or whole_number(labels[-1]) is not None:
        raise InputError(
            f"{shown(text, MOST_SHOWN)} is not a host",
            remedy="write a name in ASCII letters, digits, hyphens and dots, or an IP address, like 127.0.0.1",
        )
    return text


def read_address(text: str, example: str = "127.0.0.1:6379") -> Address:
    """A host and a port, `HOST:PORT`; an IPv6 address is in brackets."""
    host, colon, port = text.rpartition(":")
    remedy = f"write HOST:PORT, like {example}"
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or (":" in host) != bracketed:
        raise InputError(f"{shown(text, MOST_SHOWN)} is not an address", remedy=remedy)
    try:
        return Address(read_host(host[1:-1] if bracketed else host), read_port(port))
    except InputError as error:
        raise InputError(f"{shown(text, MOST_SHOWN)} is not an address: {error.what}", remedy=error.remedy) from None


def read_url(text: str, example: str = "http://127.0.0.1:8080") -> str:
    """A URL of a web server, without a final slash."""
    wrong, remedy = f"{shown(text, MOST_SHOWN)} is not a URL that can be used", f"write one like {example}"
    if not text.startswith(("http://", "https://")):
        raise InputError(f"{wrong}: it does not begin with http:// or https://", remedy=remedy)
    if not _IN_URLS.fullmatch(text):
        raise InputError(f"{wrong}: it has characters that a URL cannot have", remedy=remedy)
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:  # brackets that do not match, or no IPv6 address in them
        raise InputError(f"{wrong}: its host cannot be read", remedy=remedy) from None
    if parts.username is not None or parts.query or parts.fragment or "?" in text or "#" in text:
        raise InputError(f"{wrong}: it has more than a host, a port and a path", remedy=remedy)
    tail = parts.netloc.rpartition("]")[2].rpartition(":")
    try:
        read_host(host)
        if tail[1]:
            read_port(tail[2])
    except InputError as error:
        raise InputError(f"{wrong}: {error.what}", remedy=remedy) from None
    bracketed = f"[{host}]" if ":" in host else host
    if parts.netloc.lower() not in (bracketed, f"{bracketed}:{tail[2]}"):
        raise InputError(f"{wrong}: its host cannot be read", remedy=remedy)
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def network_reason(error: BaseException) -> str:
    """Why a connection failed, in words."""
    import ssl  # it takes long, and has been imported where it matters

    if isinstance(error, TimeoutError):
        return "there was no answer in time"
    if isinstance(error, socket.gaierror):
        return "this host is not known"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate is not to be trusted"
    if isinstance(error, ssl.SSLError):
        return "there is no TLS there"
    number = getattr(error, "errno", None)
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return _REASONS.get(number, text) if isinstance(number, int) else text
