"""Crawls pages of a site that bans addresses, through leased proxies.

    export DISCOVERY_TOKEN=…
    python3 examples/crawler/crawler.py --pages 12 http://shop.example/page/{}

It keeps a proxy until the site refuses it; then it reports that, which lets the proxy rest
for this site, and goes on with the same page from another address. It needs the client of
clients/python ("pip install ./clients/python") and nothing else.
"""

import argparse
import sys
import urllib.error
import urllib.request
from typing import Tuple
from urllib.parse import urlsplit

from gatehouse_egress import BANNED, RATE_LIMITED, Client, Lease, NoMatch

REFUSALS = {403: BANNED, 429: RATE_LIMITED}


def fetch(lease: Lease, url: str) -> Tuple[int, str]:
    """Asks for a page through the proxy of a lease."""
    try:
        with lease.opener().open(url, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")


def crawl(client: Client, pattern: str, pages: int) -> None:
    page, target = 1, urlsplit(pattern).hostname or ""
    while page <= pages:
        with client.lease(target=target) as lease:  # renewed inside, released at its end
            print(f"leased    {lease.proxy.id} until {lease.expires_at:%H:%M:%S} UTC, for {target}")
            while page <= pages:
                status, text = fetch(lease, pattern.format(page))
                print(f"  {status}     {text.strip()}")
                if status in REFUSALS:
                    lease.report(REFUSALS[status])
                    print(f"reported  {lease.proxy.id} as {REFUSALS[status]}: it rests for {target}")
                    break
                page += 1
    print(f"crawled   {pages} pages")


def main() -> int:
    options = argparse.ArgumentParser(description="Crawls pages through leased proxies.")
    options.add_argument("pattern", metavar="URL", help="of the pages, with {} for their number")
    options.add_argument("--api", default="http://127.0.0.1:8090", help="where the lease API is")
    options.add_argument("--pages", type=int, default=12)
    arguments = options.parse_args()
    try:
        crawl(Client(arguments.api), arguments.pattern, arguments.pages)
    except NoMatch as error:
        print(f"no proxy left: {error.message} (in {error.retry_after:.0f} s)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
