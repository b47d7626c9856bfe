"""The client against a real lease API with three proxies, which test/fleet/clients starts.

Go's TestPython runs this; $LEASE_API is where the API is.
"""

import ast
import os
import threading
import time
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable, Dict

import gatehouse_egress
from gatehouse_egress import (
    BANNED,
    OK,
    RATE_LIMITED,
    Client,
    Invalid,
    KeyReused,
    NoMatch,
    ProxyGone,
    Unauthorized,
    Unexpected,
    UnknownLease,
    Unreachable,
)
from gatehouse_egress._call import read
from gatehouse_egress._errors import refusal
from gatehouse_egress._proxy import Proxy

API = os.environ["LEASE_API"]


def control(what: str) -> None:
    """Tells the API to lose answers or a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(API + "/test/" + what, method="POST"), timeout=10).close()


def until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not so():
        if time.monotonic() > end:
            raise AssertionError("not within a minute")
        time.sleep(0.01)


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(API)

    def active(self) -> int:
        return sum(p.active_leases for p in self.client.list())

    def test_life(self) -> None:
        lease = self.client.acquire(
            {"country": "fr"}, "Life.example", ttl=60, namespace="crawl", session="life", exclude=["crawl/de-1"], wait=1
        )
        with lease:
            first, proxy = lease.expires_at, lease.proxy
            self.assertEqual(("crawl/fr-1", "z", 20, "life.example"), (proxy.id, proxy.zone, proxy.latency_millis, lease.target))
            self.assertEqual(f"http://{proxy.username}:{proxy.password}@192.0.2.1:3128", lease.url)
            lease.renew(3600)
            self.assertGreater((lease.expires_at - first).total_seconds(), 3000)
            self.assertGreater(lease.remaining, 3000)
            self.assertNotEqual(proxy.username, lease.proxy.username)
            self.assertLess(abs((lease.expires_at - datetime.now(timezone.utc)).total_seconds() - 3600), 60)
            listed = self.client.list({"country": "fr"}, namespace="crawl", healthy=True)
            self.assertEqual([("crawl/fr-1", 1, "")], [(p.id, p.active_leases, p.password) for p in listed])
            self.assertIsNone(lease.report_status(500))
            self.assertEqual(OK, lease.report_status(204))
            self.assertIsNone(lease.cooling_until)
            self.assertEqual(BANNED, lease.report_status(403))
            lease.renew()
            assert lease.cooling_until is not None
            self.assertGreater((lease.cooling_until - datetime.now(timezone.utc)).total_seconds(), 500)
            for text in (repr(lease), str(lease), repr(lease.proxy)):
                self.assertNotIn(lease.proxy.password, text)
                self.assertNotIn(lease.id, text)
        self.assertIsNone(lease.lost)
        with self.assertRaises(UnknownLease):
            lease.renew()
        with self.assertRaises(NoMatch) as caught:
            self.client.acquire({"country": "fr"}, "life.example")
        self.assertEqual((1, 0, 0, 1), (caught.exception.considered, caught.exception.unhealthy,
                                        caught.exception.at_capacity, caught.exception.in_cooldown))
        self.assertGreater(caught.exception.retry_after, 500)

    def test_lost_answers_lose_no_lease(self) -> None:
        control("cut/3")
        lease = self.client.acquire({"country": "de"})
        self.assertEqual(1, self.active())
        control("cut/2")
        lease.renew()
        control("cut/2")
        lease.release()
        self.assertEqual(0, self.active())

    def test_report_is_not_repeated_blindly(self) -> None:
        with self.client.lease(target="blind.example") as lease:
            control("cut/1")
            with self.assertRaises(Unreachable):
                lease.report(RATE_LIMITED)

    def test_with_renews_and_tells_when_it_is_lost(self) -> None:
        with self.client.lease({"country": "de"}, ttl=3) as lease:
            first = lease.expires_at
            until(lambda: (lease.expires_at - first).total_seconds() > 2)  # twice
            self.assertIsNone(lease.lost)
            control("remove/" + lease.proxy.name)
            until(lambda: lease.lost is not None)
            self.assertIsInstance(lease.lost, ProxyGone)
        self.assertNotIn("gatehouse-egress-lease", [t.name for t in threading.enumerate()])

    def test_waiters_share_a_proxy(self) -> None:
        def once(_: int) -> None:
            with self.client.lease({"country": "fr"}, "shared.example", wait=30):
                pass

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(once, range(8)))
        self.assertEqual(0, self.active())

    def test_errors(self) -> None:
        calls: Dict[str, Callable[[], object]] = {
            "invalid_ttl": lambda: self.client.acquire(ttl=7200),
            "invalid_target": lambda: self.client.acquire(target="https://shop.example/"),
            "invalid_selector": lambda: self.client.acquire({"a b": "c"}),
            "invalid_exclude": lambda: self.client.acquire(exclude=["de-1"]),
            "invalid_key": lambda: self.client.acquire(idempotency_key="a b"),
        }
        for code, call in calls.items():
            with self.subTest(code), self.assertRaises(Invalid) as caught:
                call()
            self.assertEqual(code, caught.exception.code)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaises(Unauthorized):
            Client(API, "wrong").list()
        with self.assertRaises(Unreachable) as unreachable:
            Client("http://127.0.0.1:1", "a-secret", attempts=2).list()
        self.assertIsInstance(unreachable.exception.__cause__, OSError)
        self.assertNotIn("a-secret", str(unreachable.exception))

    def test_what_is_no_client(self) -> None:
        for base_url, token, attempts in (("127.0.0.1:8090", "", 4), (API, "a\n", 4), (API, "", 0)):
            with self.subTest(base_url), self.assertRaises(ValueError) as caught:
                Client(base_url, token, attempts=attempts)
            self.assertNotIn("\n", str(caught.exception))

    def test_answers_of_others(self) -> None:
        self.assertIsInstance(refusal(404, None, None), Unexpected)
        self.assertIsInstance(refusal(502, "x", ["list"]), Unexpected)
        with self.assertRaises(Unexpected):
            read(b"<html>")

    def test_idempotency_key(self) -> None:
        with self.client.acquire(target="key.example", idempotency_key="k") as first:
            self.assertEqual(first.id, self.client.acquire(target="key.example", idempotency_key="k").id)
            with self.assertRaises(KeyReused):
                self.client.acquire(target="other.example", idempotency_key="k")

    def test_how_libraries_are_told(self) -> None:
        proxy = Proxy("a", "ns", "2001:db8::1", 1080, "socks5", username="u", password="p@ss/word:%")
        url = "socks5h://u:p%40ss%2Fword%3A%25@[2001:db8::1]:1080"
        self.assertEqual({"http": url, "https": url}, proxy.proxies)
        self.assertEqual({"server": "socks5://[2001:db8::1]:1080", "username": "u", "password": "p@ss/word:%"}, proxy.playwright)
        open_to_all = Proxy("a", "ns", "192.0.2.1", 3128, "https")
        self.assertEqual(("https://192.0.2.1:3128", {"server": "https://192.0.2.1:3128"}), (open_to_all.url, open_to_all.playwright))

    def test_syntax_of_the_oldest_python(self) -> None:
        for path in Path(gatehouse_egress.__file__).parent.glob("*.py"):
            ast.parse(path.read_text(), path.name, feature_version=(3, 9))

    def test_version(self) -> None:
        self.assertEqual(os.environ["GATEHOUSE_VERSION"], gatehouse_egress.__version__)


if __name__ == "__main__":
    unittest.main()
