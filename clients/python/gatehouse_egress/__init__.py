"""Leases proxies of a Gatehouse fleet.

    from gatehouse_egress import Client

    client = Client("http://127.0.0.1:8090")  # the token is in $DISCOVERY_TOKEN
    with client.lease(selector={"country": "de"}, target="shop.example") as lease:
        response = requests.get("https://shop.example/", proxies=lease.proxies, timeout=30)
        lease.report_status(response.status_code)

A lease is the right to use one healthy proxy until a time. Inside of "with" a thread
renews it; after that it is released. What is reported lets the proxy rest for the target,
so that the next lease is on another one.
"""

from ._client import Client
from ._errors import (
    Invalid,
    KeyReused,
    LeaseError,
    NoMatch,
    ProxyGone,
    Unauthorized,
    Unavailable,
    Unexpected,
    UnknownLease,
    Unreachable,
)
from ._lease import BANNED, OK, RATE_LIMITED, Lease
from ._proxy import Proxy

#: Version of the lease API that this speaks, and of Gatehouse.
__version__ = "0.1.0"

__all__ = [
    "BANNED",
    "OK",
    "RATE_LIMITED",
    "Client",
    "Invalid",
    "KeyReused",
    "Lease",
    "LeaseError",
    "NoMatch",
    "Proxy",
    "ProxyGone",
    "Unauthorized",
    "Unavailable",
    "Unexpected",
    "UnknownLease",
    "Unreachable",
]
