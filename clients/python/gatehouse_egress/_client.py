"""The client: it acquires leases and lists proxies."""

from __future__ import annotations

import math
import os
import secrets
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional
from urllib.parse import urlencode

from ._call import Call, Caller
from ._errors import NoMatch, Unexpected
from ._lease import Lease
from ._proxy import Proxy, parse

_MAX_WAIT = 30.0


class Client:
    """Asks one fleet. Threads may share it.

    token is by default what $DISCOVERY_TOKEN says; timeout bounds one attempt, in seconds;
    attempts bounds how often a call is tried that can safely be repeated, when the fleet
    cannot be reached or says that it cannot answer now.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8090",
        token: Optional[str] = None,
        *,
        timeout: float = 10,
        attempts: int = 4,
    ) -> None:
        from . import __version__

        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        token = os.environ.get("DISCOVERY_TOKEN", "") if token is None else token
        self._caller = Caller(base_url, token, timeout, attempts, f"gatehouse-egress-python/{__version__}")

    def acquire(
        self,
        selector: Optional[Mapping[str, str]] = None,
        target: str = "",
        *,
        ttl: int = 300,
        namespace: str = "",
        session: str = "",
        exclude: Iterable[str] = (),
        wait: float = 0,
        idempotency_key: Optional[str] = None,
    ) -> Lease:
        """Leases the fittest proxy. NoMatch tells that there is none now.

        selector are attributes that the proxy must have; target is the host name that the
        lease is for; ttl is from 1 to 3600 seconds; session asks for the proxy that the session
        had, as long as that is fit; exclude are proxies that will not do, as Proxy.id says;
        wait is how many seconds to wait when there is none; the idempotency key makes two calls
        that say the same one lease, by default each has its own.

        The caller releases the lease; "with client.lease(…)" renews it too.
        """
        body: Dict[str, Any] = {"ttlSeconds": ttl}
        told = {"selector": dict(selector or {}), "target": target, "namespace": namespace, "session": session}
        body.update({k: v for k, v in told.items() if v})
        if exclude := list(exclude):
            body["exclude"] = exclude
        return self._wait(body, idempotency_key or secrets.token_hex(16), wait)

    def _wait(self, body: Dict[str, Any], key: str, wait: float) -> Lease:
        until = time.monotonic() + wait
        while True:
            # The fleet lets nobody wait longer than that; who wants to asks again.
            now = max(0.0, min(until - time.monotonic(), _MAX_WAIT))
            millis = math.ceil(now * 1000)
            path = "/v1/leases" + (f"?wait={millis}ms" if millis else "")
            call = Call("POST", path, body, {"Idempotency-Key": key}, wait=now)
            try:
                answer, began = self._caller.do(call)
                return Lease(self._caller, answer, began)
            except NoMatch:
                if now < _MAX_WAIT:
                    raise

    def lease(
        self,
        selector: Optional[Mapping[str, str]] = None,
        target: str = "",
        *,
        ttl: int = 300,
        namespace: str = "",
        session: str = "",
        exclude: Iterable[str] = (),
        wait: float = 10,
        idempotency_key: Optional[str] = None,
    ) -> Lease:
        """Acquires a lease for "with", which renews it inside and releases it after.

        It waits up to ten seconds for a proxy, unless told otherwise.
        """
        return self.acquire(
            selector,
            target,
            ttl=ttl,
            namespace=namespace,
            session=session,
            exclude=exclude,
            wait=wait,
            idempotency_key=idempotency_key,
        )

    def list(
        self,
        attributes: Optional[Mapping[str, str]] = None,
        *,
        namespace: str = "",
        healthy: Optional[bool] = None,
    ) -> List[Proxy]:
        """Proxies, in order of namespace and name. It leases nothing."""
        query = {"attr." + k: v for k, v in (attributes or {}).items()}
        if namespace:
            query["namespace"] = namespace
        if healthy is not None:
            query["healthy"] = "true" if healthy else "false"
        answer, _ = self._caller.do(Call("GET", "/v1/proxies" + (f"?{urlencode(query)}" if query else "")))
        try:
            return [parse(one) for one in answer["proxies"]]
        except (KeyError, TypeError, ValueError) as error:
            raise Unexpected("unexpected", "the answer has no proxies: does the URL name a lease API?") from error
