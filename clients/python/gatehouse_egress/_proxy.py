"""A proxy of the fleet, and how each library wants to be told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, TypedDict
from urllib.parse import quote


class PlaywrightProxy(TypedDict, total=False):
    """Playwright's ProxySettings."""

    server: str
    bypass: Optional[str]
    username: Optional[str]
    password: Optional[str]


@dataclass(frozen=True)
class Proxy:
    """A proxy. Only that of a lease has username and password, unless it asks for none."""

    name: str
    namespace: str
    host: str
    port: int
    #: http, https or socks5.
    scheme: str
    ip: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    zone: str = ""
    provider: str = ""
    latency_millis: int = 0
    healthy: bool = False
    active_leases: int = 0
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def id(self) -> str:
        """What exclude takes: namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def server(self) -> str:
        """Its URL without credentials."""
        return f"{self.scheme}://{self.address}"

    @property
    def url(self) -> str:
        """Its URL with the credentials, as curl and most libraries take it."""
        return self._url(self.scheme)

    @property
    def proxies(self) -> Dict[str, str]:
        """What requests takes as proxies. Names are looked up by the proxy."""
        url = self._url("socks5h" if self.scheme == "socks5" else self.scheme)
        return {"http": url, "https": url}

    @property
    def playwright(self) -> PlaywrightProxy:
        """What Playwright takes as proxy. Chromium speaks SOCKS5 without a password only."""
        if self.username:
            return {"server": self.server, "username": self.username, "password": self.password}
        return {"server": self.server}

    @property
    def address(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def _url(self, scheme: str) -> str:
        who = f"{quote(self.username, safe='')}:{quote(self.password, safe='')}@" if self.username else ""
        return f"{scheme}://{who}{self.address}"


def parse(told: Any) -> Proxy:
    """The proxy object of an answer. It raises KeyError, TypeError or ValueError."""
    return Proxy(
        name=str(told["name"]),
        namespace=str(told["namespace"]),
        host=str(told["host"]),
        port=int(told["port"]),
        scheme=str(told["scheme"]),
        ip=str(told.get("ip") or ""),
        attributes=dict(told.get("attributes") or {}),
        zone=str(told.get("zone") or ""),
        provider=str(told.get("provider") or ""),
        latency_millis=int(told.get("latencyMillis") or 0),
        healthy=bool(told.get("healthy")),
        active_leases=int(told.get("activeLeases") or 0),
        username=str(told.get("username") or ""),
        password=str(told.get("password") or ""),
    )
