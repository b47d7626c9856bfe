"""A downloader middleware of Scrapy (2.13 or newer) that sends requests through leased proxies.

    DOWNLOADER_MIDDLEWARES = {"gatehouse_egress.scrapy.LeaseMiddleware": 740}
    GATEHOUSE_EGRESS_URL = "http://127.0.0.1:8090"

Each target has a lease of its own, which its requests share until the target refuses the
proxy or the proxy fails: then that is reported, and they go again through another one.

Settings, with their defaults:

GATEHOUSE_EGRESS_URL = "http://127.0.0.1:8090"; GATEHOUSE_EGRESS_TOKEN = $DISCOVERY_TOKEN
GATEHOUSE_EGRESS_SELECTOR = {}, attributes that proxies must have
GATEHOUSE_EGRESS_NAMESPACE = "", for all
GATEHOUSE_EGRESS_TTL = 300, GATEHOUSE_EGRESS_WAIT = 10, in seconds: life of a lease, and how
    long a request waits for one; the request then fails with NoMatch
GATEHOUSE_EGRESS_PER = "domain" (the host name of the URL) or "slot" (the downloader's)
GATEHOUSE_EGRESS_BANNED = [403], GATEHOUSE_EGRESS_RATE_LIMITED = [429], statuses to report
GATEHOUSE_EGRESS_EXCEPTIONS = "exclude": a proxy through which a download fails is not used
    for the target while another one is; "banned" or "rate_limited" reports it too; "" does
    nothing
GATEHOUSE_EGRESS_RETRIES = 3, how often one request goes again through another proxy
GATEHOUSE_EGRESS_IDLE = 60, after how many seconds without a request a lease is released

In request.meta: "proxy" that is there already counts, with None for no proxy at all;
"egress_selector" and "egress_session" ask for a lease of their own; "egress_proxy" is set to
the name of the leased proxy.

HttpProxyMiddleware (750) must come after this one. Proxies are spoken to by HTTP: Scrapy's
own download handler knows no other way.
"""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple, TypeVar, Union

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet import task
from twisted.internet.defer import DeferredLock
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

from ._client import Client
from ._errors import LeaseError, NoMatch
from ._lease import BANNED, OK, RATE_LIMITED, Lease

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_Key = Tuple[str, Tuple[Tuple[str, str], ...], str]

_PREFIX = "GATEHOUSE_EGRESS_"
_TICK = 1.0
# How many proxies a request can exclude.
_MOST_EXCLUDED = 256
# How many calls of the lease API are under way at once; those that wait for a proxy count.
_THREADS = 32
# What is kept with a request.
_META = ("proxy", "egress_proxy", "_egress_lease", "_egress_key", "_auth_proxy")


class _Slot:
    """What requests of one key share."""

    def __init__(self) -> None:
        self.lock = DeferredLock()
        self.lease: Optional[Lease] = None
        self.excluded: Set[str] = set()
        self.used = time.monotonic()
        #: Requests that are under way.
        self.busy = 0
        #: Whether something came through the lease.
        self.worked = False
        self.renewing = False
        #: How often none could be had, and why the last time.
        self.failures = 0
        self.failure: Optional[Exception] = None

    def done(self) -> None:
        """A request has come to its end."""
        self.busy -= 1
        self.used = time.monotonic()

    def idle(self, patience: float, longest: float) -> bool:
        """Whether nobody uses it; a request that was never heard of again counts for so long."""
        unused = time.monotonic() - self.used
        return not self.lock.locked and (unused > patience and self.busy <= 0 or unused > patience + longest)


class LeaseMiddleware:
    """See the module."""

    def __init__(self, crawler: Crawler) -> None:
        s = crawler.settings
        self._client = Client(s.get(_PREFIX + "URL", "http://127.0.0.1:8090"), s.get(_PREFIX + "TOKEN"))
        self._selector: Mapping[str, str] = s.getdict(_PREFIX + "SELECTOR")
        self._namespace: str = s.get(_PREFIX + "NAMESPACE", "")
        self._ttl, self._wait = s.getint(_PREFIX + "TTL", 300), s.getfloat(_PREFIX + "WAIT", 10)
        self._per: str = s.get(_PREFIX + "PER", "domain")
        self._results = {int(code): BANNED for code in s.getlist(_PREFIX + "BANNED", [403])}
        self._results.update({int(code): RATE_LIMITED for code in s.getlist(_PREFIX + "RATE_LIMITED", [429])})
        self._exceptions: str = s.get(_PREFIX + "EXCEPTIONS", "exclude")
        self._retries, self._idle = s.getint(_PREFIX + "RETRIES", 3), s.getfloat(_PREFIX + "IDLE", 60)
        self._longest = s.getfloat("DOWNLOAD_TIMEOUT", 180)
        self._crawler = crawler
        self._pool = ThreadPool(0, _THREADS, "gatehouse-egress")
        self._slots: Dict[_Key, _Slot] = {}
        # Proxies that speak what Scrapy does not.
        self._foreign: Set[str] = set()
        self._ticker = task.LoopingCall(self._tick)
        # NotConfigured would turn the middleware off, and send the requests without a proxy.
        if self._per not in ("domain", "slot"):
            raise ValueError(f'{_PREFIX}PER is {self._per!r}: it must be "domain" or "slot"')
        if self._exceptions not in ("", "exclude", BANNED, RATE_LIMITED):
            raise ValueError(
                f'{_PREFIX}EXCEPTIONS is {self._exceptions!r}: it must be "", "exclude", "{BANNED}" or "{RATE_LIMITED}"'
            )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LeaseMiddleware:
        self = cls(crawler)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        return self

    def spider_opened(self, spider: Spider) -> None:
        self._pool.start()
        self._ticker.start(min(_TICK, self._ttl / 8), now=False)

    async def spider_closed(self, spider: Spider) -> None:
        if self._ticker.running:
            self._ticker.stop()
        for slot in list(self._slots.values()):
            await self._let_go(slot)
        self._pool.stop()

    async def process_request(self, request: Request, spider: Optional[Spider] = None) -> None:
        if "_egress_lease" in request.meta:
            _forget(request)  # it was redirected or tried again: perhaps for another target
        if "proxy" in request.meta or urlparse_cached(request).scheme not in ("http", "https"):
            return
        key = self._key(request)
        slot = self._slots.setdefault(key, _Slot())
        lease = await self._leased(slot, request)
        proxy = lease.proxy
        request.meta["proxy"] = proxy.url
        request.meta["egress_proxy"] = proxy.id
        request.meta.update(_egress_lease=lease.id, _egress_key=key)
        slot.busy += 1

    async def process_response(
        self, request: Request, response: Response, spider: Optional[Spider] = None
    ) -> Union[Request, Response]:
        slot = self._of(request)
        if slot is None:
            return response
        slot.done()
        result = self._results.get(response.status)
        if result is None:
            slot.worked = slot.worked or response.status < 400
            return response
        self._count(result)
        await self._give_up(slot, request, result)
        return self._again(request) or response

    async def process_exception(
        self, request: Request, exception: Exception, spider: Optional[Spider] = None
    ) -> Optional[Request]:
        slot = self._of(request)
        if slot is None:
            return None
        slot.done()
        if not self._exceptions or isinstance(exception, IgnoreRequest):
            return None
        self._count("failed")
        slot.excluded.add(request.meta["egress_proxy"])
        await self._give_up(slot, request, "" if self._exceptions == "exclude" else self._exceptions)
        return self._again(request)

    def _key(self, request: Request) -> _Key:
        selector = request.meta.get("egress_selector", self._selector)
        return self._target(request), tuple(sorted(selector.items())), request.meta.get("egress_session", "")

    def _target(self, request: Request) -> str:
        host = urlparse_cached(request).hostname or ""
        if self._per == "slot":
            return str(request.meta.get("download_slot") or host)
        return host

    def _of(self, request: Request) -> Optional[_Slot]:
        """The slot of a request that went through a lease."""
        key = request.meta.get("_egress_key")
        return None if key is None else self._slots.get(key)

    async def _leased(self, slot: _Slot, request: Request) -> Lease:
        # One of the requests asks; those that come meanwhile share what it gets.
        failures = slot.failures
        await maybe_deferred_to_future(slot.lock.acquire())
        try:
            if slot.failure is not None and slot.failures != failures:
                raise slot.failure
            if slot.lease is not None and slot.lease.remaining < min(1.0, self._ttl / 4):
                await self._let_go(slot)
            if slot.lease is None:
                slot.worked = False
                slot.lease = await self._acquire(slot, request)
            return slot.lease
        except Exception as error:
            slot.failures, slot.failure = slot.failures + 1, error
            raise
        finally:
            slot.used = time.monotonic()
            slot.lock.release()

    async def _acquire(self, slot: _Slot, request: Request) -> Lease:
        target, selector, session = self._key(request)
        while True:
            try:
                lease = await self._ask(selector, target, session, slot.excluded | self._foreign)
            except NoMatch as error:
                if not slot.excluded:
                    raise self._explained(error) from None
                # Nobody else: better one that failed before than none.
                slot.excluded.clear()
                continue
            if lease.proxy.scheme == "http":
                self._count("leases")
                return lease
            self._foreign.add(lease.proxy.id)
            await self._thread(lease.release)

    def _explained(self, error: NoMatch) -> LeaseError:
        if not self._foreign:
            return error
        some = ", ".join(sorted(self._foreign)[:3])
        error.args = (f"{error}; those like {some} were passed over, since Scrapy speaks to proxies by HTTP alone: select others",)
        return error

    async def _ask(self, selector: Tuple[Tuple[str, str], ...], target: str, session: str, excluded: Set[str]) -> Lease:
        return await self._thread(
            self._client.acquire,
            dict(selector),
            target,
            ttl=self._ttl,
            namespace=self._namespace,
            session=session,
            exclude=sorted(excluded)[:_MOST_EXCLUDED],
            wait=self._wait,
        )

    async def _give_up(self, slot: _Slot, request: Request, result: str) -> None:
        """Reports, and lets go of the lease unless others did: many requests share it."""
        lease = slot.lease
        if lease is None or lease.id != request.meta["_egress_lease"]:
            return
        slot.lease = None
        await self._tell(lease, result)

    async def _let_go(self, slot: _Slot) -> None:
        lease, slot.lease = slot.lease, None
        if lease is not None:
            await self._tell(lease, OK if slot.worked else "")

    async def _tell(self, lease: Lease, result: str) -> None:
        try:
            if result:
                await self._thread(lease.report, result)
            await self._thread(lease.release)
        except LeaseError as error:
            logger.warning("the lease of %s ends by itself: %s", lease.proxy.id, error)

    def _again(self, request: Request) -> Optional[Request]:
        """The request once more, through another proxy, unless that was tried often enough."""
        times = request.meta.get("egress_retries", 0)
        if times >= self._retries:
            return None
        again: Request = request.replace(dont_filter=True)
        _forget(again)
        again.meta["egress_retries"] = times + 1
        self._count("retries")
        return again

    def _count(self, what: str) -> None:
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value("gatehouse_egress/" + what)

    def _tick(self) -> None:
        """Releases what is idle, and renews what is half over."""
        for key, slot in list(self._slots.items()):
            lease = slot.lease
            if slot.idle(self._idle, self._longest):
                del self._slots[key]
                _in_background(self._let_go(slot))
            elif lease is not None and lease.remaining < lease.ttl / 2 and not slot.renewing:
                slot.renewing = True
                _in_background(self._renew(slot, lease))

    async def _renew(self, slot: _Slot, lease: Lease) -> None:
        try:
            await self._thread(lease.renew)
        except LeaseError as error:
            logger.info("the lease of %s is lost: %s", lease.proxy.id, error)
            if slot.lease is lease:
                slot.lease = None
        finally:
            slot.renewing = False

    async def _thread(self, f: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        """Calls f without holding up the reactor."""
        from twisted.internet import reactor  # which one is settled by now

        deferred = deferToThreadPool(reactor, self._pool, f, *args, **kwargs)
        result: _T = await maybe_deferred_to_future(deferred)
        return result


def _forget(request: Request) -> None:
    """Takes away what a lease has left in a request."""
    for name in _META:
        request.meta.pop(name, None)
    request.headers.pop(b"Proxy-Authorization", None)


def _in_background(coroutine: Any) -> None:
    deferred_from_coro(coroutine)
