"""A lease: used, renewed, reported about, released."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, Dict, Optional, Type
from urllib.parse import quote
from urllib.request import OpenerDirector

from ._call import MAX_PAUSE, Call, Caller, backoff, is_final
from ._errors import LeaseError, Unexpected
from ._opener import through
from ._proxy import PlaywrightProxy, Proxy, parse

OK = "ok"
#: The target answers 429, or as much.
RATE_LIMITED = "rate_limited"
#: The target refuses the address of the proxy.
BANNED = "banned"

_OF_STATUS = {403: BANNED, 429: RATE_LIMITED}


class Lease:
    """The right to use a proxy until expires_at. Threads may share it.

    Inside of "with" a thread renews it at half of its life, and ends with the block. If it is
    lost all the same, lost says why: stop using the proxy then.
    """

    def __init__(self, caller: Caller, answer: Any, began: float) -> None:
        self._caller = caller
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._keeper: Optional[threading.Thread] = None
        #: Why the lease was lost while it was in use; None as long as it was not.
        self.lost: Optional[LeaseError] = None
        try:
            #: Names it, and is as secret as the token.
            self.id = str(answer["leaseID"])
            #: What it is for, as the fleet writes it.
            self.target = str(answer.get("target") or "")
            #: True when a session got another proxy than it had.
            self.rebound = bool(answer.get("rebound"))
            self.ttl = int(answer["ttlSeconds"])
            self._take(answer, began, parse(answer["proxy"]))
        except (KeyError, TypeError, ValueError) as error:
            raise Unexpected("unexpected", "the answer is no lease: does the URL name a lease API?") from error

    def _take(self, answer: Any, began: float, proxy: Optional[Proxy]) -> None:
        expires = _time(str(answer["expiresAt"]))
        cooling = _time(str(answer["coolingUntil"])) if answer.get("coolingUntil") else None
        with self._lock:
            if proxy is not None:
                self._proxy = proxy
            self._began, self._expires, self._cooling = began, expires, cooling

    @property
    def proxy(self) -> Proxy:
        """What is leased, with the credentials as they are since the last renewal."""
        with self._lock:
            return self._proxy

    @property
    def url(self) -> str:
        """The URL of the proxy, with the credentials, as curl and most libraries take it."""
        return self.proxy.url

    @property
    def proxies(self) -> Dict[str, str]:
        """What requests and urllib take. Ask for it again after a renewal."""
        return self.proxy.proxies

    @property
    def playwright(self) -> PlaywrightProxy:
        """What Playwright takes as proxy of a browser or a context."""
        return self.proxy.playwright

    def opener(self) -> OpenerDirector:
        """An opener of urllib that goes through the proxy, whatever the environment says.

        urllib speaks to proxies by HTTP only. Credentials are as they are now: ask for another
        opener after a renewal.
        """
        return through(self.proxy)

    @property
    def expires_at(self) -> datetime:
        """When it ends unless it is renewed, by the fleet's clock, in UTC."""
        with self._lock:
            return self._expires

    @property
    def cooling_until(self) -> Optional[datetime]:
        """Until when the proxy rests for the target, or for all, as the last renewal said.

        Go on with another lease then. None if it does not rest.
        """
        with self._lock:
            return self._cooling

    @property
    def remaining(self) -> float:
        """How many seconds it lasts at least, whatever the clocks say; negative at its end."""
        with self._lock:
            return self._began + self.ttl - time.monotonic()

    def renew(self, ttl: Optional[int] = None) -> None:
        """Lets it end ttl seconds from now, by default as long as before.

        UnknownLease tells that it has ended, ProxyGone that its proxy has.
        """
        ttl = ttl or self.ttl
        answer, began = self._caller.do(Call("PUT", self._path(), {"ttlSeconds": ttl}), self._pause)
        try:
            proxy = parse(answer["proxy"]) if answer.get("proxy") else None
            self._take(answer, began, proxy)
        except (KeyError, TypeError, ValueError) as error:
            raise Unexpected("unexpected", "the answer is no renewal: does the URL name a lease API?") from error
        self.ttl = ttl

    def report(self, result: str, target: str = "") -> None:
        """Says what became of its use: OK, RATE_LIMITED or BANNED.

        The last two let the proxy rest for the target, by default that of the lease, and for
        all targets where that has none. It works for ten minutes after the lease's end.
        """
        body = {"result": result}
        if target:
            body["target"] = target
        self._caller.do(Call("POST", self._path() + "/report", body, once=True))

    def report_status(self, status: int, target: str = "") -> Optional[str]:
        """Reports what an HTTP status of the target means, and returns what it reported.

        403 is BANNED, 429 is RATE_LIMITED, below 400 is OK; others say nothing of the proxy.
        """
        result = _OF_STATUS.get(status, OK if status < 400 else None)
        if result is not None:
            self.report(result, target)
        return result

    def release(self) -> None:
        """Ends it. One that has ended already is no error."""
        self._stop.set()
        self._caller.do(Call("DELETE", self._path()))
        if self._keeper is not None:
            self._keeper.join(self._caller.timeout)
            self._keeper = None

    def __enter__(self) -> Lease:
        self._keeper = threading.Thread(target=self._keep, name="gatehouse-egress-lease", daemon=True)
        self._keeper.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            self.release()
        except LeaseError:
            pass  # it ends by itself, and what was done with it is done

    def __repr__(self) -> str:
        return f"<Lease of {self.proxy.id} for {self.target or 'any target'} until {self.expires_at.isoformat()}>"

    def _path(self) -> str:
        return "/v1/leases/" + quote(self.id, safe="")

    def _pause(self, seconds: float) -> bool:
        return not self._stop.wait(seconds)

    def _keep(self) -> None:
        """Renews at half of its life until it is released or lost."""
        while self._pause(max(0.0, self.remaining - self.ttl / 2)):
            attempt = 1
            while True:
                try:
                    self.renew()
                    break
                except LeaseError as error:
                    pause = min(backoff(attempt, error), MAX_PAUSE)
                    if is_final(error) or self.remaining < pause:
                        if not self._stop.is_set():
                            self.lost = error
                        return
                    if not self._pause(pause):
                        return
                attempt += 1


def _time(text: str) -> datetime:
    """RFC 3339 in UTC; fromisoformat of Python 3.9 knows neither Z nor nine digits."""
    return datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
