"""What can go wrong, by what a caller does about it."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type


class LeaseError(Exception):
    """A call failed. The text is one line, with what to do about it.

    code is the fleet's word for it, "unreachable" where no answer came, and "unexpected"
    for an answer that is none of the lease API; status is the HTTP status, 0 where no answer
    came; retry_after is in how many seconds to ask again, 0 when the fleet says nothing.
    """

    def __init__(self, code: str, message: str, status: int = 0, retry_after: float = 0) -> None:
        super().__init__(f"lease API: {code}: {message}" if message else f"lease API: {code}")
        self.code = code
        self.message = message
        self.status = status
        self.retry_after = retry_after


class NoMatch(LeaseError):
    """No proxy can be leased now.

    considered counts those that the selector matches. Each is counted once, under the first
    of unhealthy, at_capacity and in_cooldown that holds.
    """

    considered = unhealthy = at_capacity = in_cooldown = 0


class UnknownLease(LeaseError):
    """The lease has ended, or never was."""


class ProxyGone(LeaseError):
    """The proxy of the lease was deleted or replaced: acquire another one."""


class KeyReused(LeaseError):
    """The idempotency key was used for another request."""


class Unauthorized(LeaseError):
    """The token is missing or wrong."""


class Invalid(LeaseError):
    """The request says something that cannot be; the message names it."""


class Unavailable(LeaseError):
    """The fleet cannot answer now; ask again after retry_after."""


class Unreachable(LeaseError):
    """No answer came. __cause__ says why."""


class Unexpected(LeaseError):
    """The answer is none of a lease API: the URL names something else."""


_CLASSES: Mapping[str, Type[LeaseError]] = {
    "no_match": NoMatch,
    "unknown_lease": UnknownLease,
    "proxy_gone": ProxyGone,
    "idempotency_key_reused": KeyReused,
    "unauthorized": Unauthorized,
}


def refusal(status: int, retry_after: Optional[str], body: Any) -> LeaseError:
    """What the fleet answered, as an error."""
    told: Dict[str, Any] = body if isinstance(body, dict) else {}
    code, message = told.get("error"), str(told.get("message", ""))
    after = float(retry_after) if retry_after and retry_after.strip().isdigit() else 0.0
    if not isinstance(code, str) or not code:
        return Unexpected(
            "unexpected", f"status {status} without a code: does the URL name a lease API?", status, after
        )
    error = _class(code, status)(code, message, status, after)
    if isinstance(error, NoMatch):
        error.considered, error.unhealthy = _count(told, "considered"), _count(told, "unhealthy")
        error.at_capacity, error.in_cooldown = _count(told, "atCapacity"), _count(told, "inCooldown")
    return error


def _class(code: str, status: int) -> Type[LeaseError]:
    if code in _CLASSES:
        return _CLASSES[code]
    if status in (429, 503):
        return Unavailable
    return Invalid if 400 <= status < 500 else LeaseError


def _count(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0
