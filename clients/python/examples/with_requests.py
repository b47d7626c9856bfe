"""Visits a page by requests, through one leased proxy after another until one is not refused.

    python with_requests.py http://127.0.0.1:8090 https://shop.example/
"""

import sys
from urllib.parse import urlsplit

import requests

from gatehouse_egress import Client


def visit(client: Client, url: str, tries: int = 3) -> requests.Response:
    for _ in range(tries):
        with client.lease(target=urlsplit(url).hostname or "") as lease:
            with requests.Session() as session:
                session.trust_env = False  # what the environment says of proxies
                response = session.get(url, proxies=lease.proxies, timeout=30)
            print(f"{response.status_code} through {lease.proxy.id}: {lease.report_status(response.status_code)}")
        if response.status_code not in (403, 429):
            break
    return response


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(visit(Client(sys.argv[1]), sys.argv[2]).text)
