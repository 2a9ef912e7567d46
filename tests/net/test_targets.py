"""Reading URLs: one reading, or none."""

import pytest

from contextos.net import canonical_host, parse_target
from contextos.net.targets import join_target
from tests.net.conftest import failure_of


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("https://api.example", "https://api.example", "/"),
        ("HTTPS://API.Example:443/a/b?c=d#e", "https://api.example", "/a/b?c=d"),
        ("http://api.example:8080?x=1", "http://api.example:8080", "/?x=1"),
        ("https://api.example./", "https://api.example", "/"),
        ("https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443", "/"),
        ("https://bücher.example/ü?q=ä", "https://xn--bcher-kva.example", "/%C3%BC?q=%C3%A4"),
        ("https://134744072/", "https://8.8.8.8", "/"),
        ("https://a_b.example/%2F..%2f", "https://a_b.example", "/%2F..%2f"),
    ],
)
def test_a_url_is_read_into_its_canonical_parts(url: str, origin: str, path: str) -> None:
    target = parse_target(url)
    assert (target.origin, target.path) == (origin, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example",
        "//api.example/",
        "ftp://api.example/",
        "file:///etc/passwd",
        "gopher://api.example/",
        "unix:///run/app.sock",
        "https:api.example",
        "https:///path",
        "https://",
        "https://user@api.example/",
        "https://user:pass@api.example/",
        "https://api.example@10.0.0.1/",
        "https://@api.example/",
        "https://api.example:0/",
        "https://api.example:65536/",
        "https://api.example:99999999/",
        "https://api.example:-1/",
        "https://api.example:4_4/",
        "https://api.example:４４３/",
        "https://api.example:443:443/",
        "https://api.example\\@10.0.0.1/",
        "https://api.example/a b",
        "https://api.example/a\tb",
        "https://api.example/\r\nX-Injected: 1",
        "https://api.example/\x00",
        " https://api.example/",
        "https://api..example/",
        "https://-api.example/",
        "https://api.example%00.evil.example/",
        "https://api%2eexample/",
        "https://[::1/",
        "https://[::1]x/",
        "https://[not-an-address]/",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
        "https://api.0x7f/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 130}example/",
        f"https://api.example/{'a' * 9000}",
    ],
)
def test_a_url_that_can_be_read_in_two_ways_is_refused(url: str) -> None:
    assert failure_of(lambda: parse_target(url)).code == "egress.url_invalid"


def test_a_refused_url_is_not_repeated_in_the_message() -> None:
    error = failure_of(lambda: parse_target("https://bob:hunter2@api.example/?token=s3cret"))
    assert "user name or password" in error.message
    assert "hunter2" not in f"{error!s} {error.data}"
    assert "s3cret" not in f"{error!s} {error.data}"


def test_a_target_shows_neither_path_nor_query() -> None:
    shown = repr(parse_target("https://api.example/hook/s3cret?token=s3cret"))
    assert shown == "<Target https://api.example>"


@pytest.mark.parametrize(
    ("host", "canonical"),
    [
        ("API.Example.", "api.example"),
        ("0x7f.1", "127.0.0.1"),
        ("[::FFFF:1.2.3.4]", "::ffff:102:304"),
        ("ＡＰＩ.example", "api.example"),
        ("localhost", "localhost"),
    ],
)
def test_every_host_has_one_spelling(host: str, canonical: str) -> None:
    assert canonical_host(host) == canonical


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/next", "https://api.example:8443/next"),
        ("next?x=1", "https://api.example:8443/a/next?x=1"),
        ("//other.example/x", "https://other.example/x"),
        ("http://10.0.0.1/", "http://10.0.0.1/"),
    ],
)
def test_a_location_is_read_from_where_it_was_given(location: str, url: str) -> None:
    assert join_target(parse_target("https://api.example:8443/a/b"), location).url == url


@pytest.mark.parametrize("location", ["javascript:alert(1)", "/a\r\nb", "http://[::1", "/\\evil"])
def test_a_location_that_is_no_http_url_is_refused(location: str) -> None:
    base = parse_target("https://api.example/")
    assert failure_of(lambda: join_target(base, location)).code == "egress.url_invalid"
