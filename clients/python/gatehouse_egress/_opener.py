"""An opener of urllib that goes through one proxy."""

from __future__ import annotations

import base64
from http.client import HTTPResponse
from typing import Optional
from urllib.request import BaseHandler, OpenerDirector, ProxyHandler, Request, build_opener

from ._proxy import Proxy


class _Through(BaseHandler):
    """Unlike ProxyHandler it does not ask $no_proxy, which would show the own address."""

    handler_order = 100  # before those that connect

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def _open(self, request: Request) -> Optional[HTTPResponse]:
        if self._proxy.username:
            pair = f"{self._proxy.username}:{self._proxy.password}".encode()
            request.add_unredirected_header("Proxy-authorization", "Basic " + base64.b64encode(pair).decode("ascii"))
        request.set_proxy(self._proxy.address, "http")
        return None  # it goes on from here

    def http_open(self, request: Request) -> Optional[HTTPResponse]:
        return self._open(request)

    def https_open(self, request: Request) -> Optional[HTTPResponse]:
        return self._open(request)


def through(proxy: Proxy) -> OpenerDirector:
    """The opener. It raises ValueError for a proxy that urllib does not speak to."""
    if proxy.scheme != "http":
        raise ValueError(f"urllib speaks to no {proxy.scheme} proxy, as {proxy.id} is: lease one of scheme http by an attribute")
    return build_opener(ProxyHandler({}), _Through(proxy))
