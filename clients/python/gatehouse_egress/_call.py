"""One call of the lease API: sent, repeated where that is safe, and read."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, Any, Callable, Dict, Optional, Tuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from ._errors import LeaseError, Unavailable, Unexpected, Unreachable, refusal

#: Seconds after which a pause is not worth it: the caller gets the answer.
MAX_PAUSE = 30.0

_FIRST_PAUSE = 0.1


@dataclass(frozen=True)
class Call:
    """A request. One that may be sent once only is repeated if it was not acted on."""

    method: str
    path: str
    body: Optional[Dict[str, Any]] = None
    headers: Optional[Dict[str, str]] = None
    #: How many seconds the fleet was asked to wait.
    wait: float = 0
    once: bool = False


def sleep(seconds: float) -> bool:
    """Waits, and never gives up."""
    time.sleep(seconds)
    return True


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> None:
        return None  # it is told as an answer that is none of the lease API


class Caller:
    """Sends calls. What the environment says of proxies does not count: it may be the fleet's."""

    def __init__(self, base_url: str, token: str, timeout: float, attempts: int, agent: str) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url is no URL such as http://127.0.0.1:8090")
        if not token.isprintable() or not token.isascii():
            # http.client would tell the token in its error.
            raise ValueError("token has characters that no header can have, such as a line break")
        self._base, self._token, self._agent = base_url.rstrip("/"), token, agent
        self.timeout, self._attempts = timeout, attempts
        self._open = build_opener(ProxyHandler({}), _NoRedirect()).open

    def do(self, call: Call, pause: Callable[[float], bool] = sleep) -> Tuple[Any, float]:
        """Returns the answer, and when the call began on the monotonic clock.

        pause waits, and says whether to go on.
        """
        began = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            try:
                return self._attempt(call), began
            except LeaseError as error:
                after = backoff(attempt, error)
                if attempt == self._attempts or not _again(call, error) or after > MAX_PAUSE or not pause(after):
                    raise
        raise AssertionError("attempts must be at least 1")

    def _attempt(self, call: Call) -> Any:
        headers = {"User-Agent": self._agent, "Accept": "application/json", **(call.headers or {})}
        data = None
        if call.body is not None:
            data = json.dumps(call.body).encode()
            headers["Content-Type"] = "application/json"
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        request = Request(self._base + call.path, data, headers, method=call.method)
        try:
            with self._open(request, timeout=self.timeout + call.wait) as response:
                text = response.read()
        except HTTPError as error:
            with error:
                raise refusal(error.code, error.headers.get("Retry-After"), _loads(error.read())) from None
        except (OSError, HTTPException) as error:
            raise _unreachable(error) from error
        return read(text)


def _unreachable(error: Exception) -> Unreachable:
    why = error.reason if isinstance(error, URLError) else error
    return Unreachable(
        "unreachable", f"no answer: {why}; does gatehouse fleet run, with --lease-address where the URL says?"
    )


def _loads(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def read(text: bytes) -> Any:
    """The object that an answer is; None where it is empty."""
    told = _loads(text)
    if text and not isinstance(told, dict):
        raise Unexpected("unexpected", "the answer is no JSON of a lease API: does the URL name one?")
    return told


def _again(call: Call, error: LeaseError) -> bool:
    if error.status in (429, 503):
        return True  # it was not acted on
    if error.status == 0 or error.status >= 500:
        return not call.once or _not_sent(error)
    return False


def _not_sent(error: LeaseError) -> bool:
    cause = error.__cause__
    reason = cause.reason if isinstance(cause, URLError) else cause
    return isinstance(reason, ConnectionRefusedError)


def is_final(error: LeaseError) -> bool:
    """Whether asking again will have the same answer."""
    return 400 <= error.status < 500 and not isinstance(error, Unavailable)


def backoff(attempts: int, error: LeaseError) -> float:
    """How many seconds to wait after so many attempts."""
    if error.retry_after > 0:
        return error.retry_after
    pause = _FIRST_PAUSE * 2.0 ** min(attempts - 1, 6)
    return pause / 2 + random.random() * pause
