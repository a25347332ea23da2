"""Hosts, ports, addresses and URLs: read, or refused in one line before anything is sent."""

from __future__ import annotations

import errno
import socket

import pytest

from equipoise.core.addresses import Address, network_reason, read_address, read_host, read_port, read_url
from equipoise.core.errors import InputError

HOSTS = ["localhost", "127.0.0.1", "::1", "fe80::1%eth0", "a.example.", "my_host-2", "xn--bcher-kva.example", "a" * 63]
NO_HOSTS = [
    *(
        "",
        ".",
        "a..b",
        ".a",
        "a" * 64,
        "a." * 127 + "aa",
        "ä.example",
        "\u0661.\u0662",
        "a b",
        "a\0",
        "\udcff",
        "a\x1b[31m",
        "[",
    ),
    *(
        "]",
        "a:1",
        "1.2.3",
        "1.2.3.400",
        "-a",
        "a-",
        "a/b",
        "a%20b",
        "a@b",
        "fe80::1%",
        "fe80::1%" + "e" * 300,
        "12345",
        "²",
    ),
]
PORTS = {"0": None, "1": 1, "65535": 65535, "65536": None, "²": None, "٣": None, "-1": None, "": None, "1e3": None}


def test_hosts_are_taken() -> None:
    for host in HOSTS:
        assert read_host(host) == host


@pytest.mark.parametrize("host", NO_HOSTS, ids=ascii)
def test_what_is_no_host_is_refused_everywhere(host: str) -> None:
    in_url = [lambda host: read_url(f"http://{host}/")] if host not in ("a:1", "a/b") else []
    for read in (read_host, lambda host: read_address(f"{host}:1"), *in_url):
        with pytest.raises(InputError) as caught:
            read(host)
        assert str(caught.value).isprintable() and caught.value.remedy


@pytest.mark.parametrize("text", PORTS, ids=ascii)
def test_ports_are_numbers_in_ascii_digits(text: str) -> None:
    if port := PORTS[text]:
        assert read_port(text) == port == read_address(f"h:{text}").port
        assert read_url(f"http://h:{text}") == f"http://h:{text}"
        return
    for read in (read_port, lambda text: read_address(f"h:{text}"), lambda text: read_url(f"http://[::1]:{text}")):
        with pytest.raises(InputError):
            read(text)
    assert read_port("0", 0) == 0


def test_addresses_are_read_and_written_with_brackets_for_version_6() -> None:
    for text, address in (("a.b:1", Address("a.b", 1)), ("[::1]:80", Address("::1", 80))):
        assert read_address(text) == address and str(address) == text
    for text in ("::1:80", "[::1]", "[a:1", "a]:1", ":1", "a", "[]:1", "[a]b:1"):
        with pytest.raises(InputError):
            read_address(text)


@pytest.mark.parametrize("text", ["http://h", "https://h:1/slumbot", "http://[::1]:8080", "http://127.0.0.1/a/b"])
def test_urls_are_taken_without_a_final_slash(text: str) -> None:
    assert read_url(text) == read_url(f"{text}/") == text


@pytest.mark.parametrize(
    "text",
    [
        *("http://[", "http://]", "http://", "http:///a", "http://[::1", "http://[a]", "http://[v1.x]", "//h", "h", ""),
        *("ftp://h", "http://u:p@h", "http://h?q", "http://h#f", "http://h/a b", "http://h/ä", "http://h/\n", "http:h"),
        *("http://h\x1b", "http://h\t", "http://h:", "http://h:1:2", "http://\0", "http://h/\udcff"),
        "HTTP://h\r\nX: y",
        *("http://h℀", "http://ⅷ.example", "http://h/\x7f"),
    ],
    ids=ascii,
)
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_url(text)
    assert str(caught.value).isprintable() and "http://127.0.0.1:8080" in caught.value.remedy


def test_reasons_are_words() -> None:
    for number in (errno.ECONNREFUSED, errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.ENOSPC, errno.EACCES):
        reason = network_reason(OSError(number, "text of the system"))
        assert "Errno" not in reason and reason
    assert network_reason(socket.gaierror(-2, "Name or service not known")) == "this host is not known"
    assert network_reason(TimeoutError()) == "there was no answer in time"
