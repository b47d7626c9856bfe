"""Opens a page in Chromium by Playwright; each context goes through a proxy of its own.

    python with_playwright.py http://127.0.0.1:8090 https://shop.example/ [CHROMIUM]

CHROMIUM is a browser to drive in place of the one that Playwright downloads.
"""

import sys
from typing import Optional
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Playwright, sync_playwright

from gatehouse_egress import Client


def visit(browser: Browser, client: Client, url: str, tries: int = 3) -> str:
    text = ""
    for _ in range(tries):
        with client.lease(target=urlsplit(url).hostname or "") as lease:
            context = browser.new_context(proxy=lease.playwright)
            page = context.new_page()
            response = page.goto(url)
            status = response.status if response else 0
            text = page.inner_text("body")
            context.close()
            print(f"{status} through {lease.proxy.id}: {lease.report_status(status)}")
        if status not in (403, 429):
            break
    return text


def launch(p: Playwright, executable: Optional[str] = None) -> Browser:
    # Chromium goes to loopback addresses without a proxy, unless it is told not to.
    return p.chromium.launch(executable_path=executable, args=["--proxy-bypass-list=<-loopback>"])


def main(api: str, url: str, executable: Optional[str] = None) -> None:
    with sync_playwright() as p:
        browser = launch(p, executable)
        print(visit(browser, Client(api), url))
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
