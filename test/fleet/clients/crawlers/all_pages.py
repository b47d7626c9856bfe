"""Visits all pages by one of the examples of clients/python.

    python all_pages.py with_requests LEASE_API URL-WITH-{} PAGES
"""

import shutil
import sys
import warnings

from gatehouse_egress import Client

warnings.simplefilter("error")


def by_requests(client: Client, pattern: str, pages: int) -> None:
    from with_requests import visit

    for n in range(1, pages + 1):
        print(visit(client, pattern.format(n)).text)


def by_playwright(client: Client, pattern: str, pages: int) -> None:
    from playwright.sync_api import sync_playwright
    from with_playwright import launch, visit

    executable = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))))
    with sync_playwright() as p:
        browser = launch(p, executable)
        for n in range(1, pages + 1):
            print(visit(browser, client, pattern.format(n)))
        browser.close()


if __name__ == "__main__":
    way = {"with_requests": by_requests, "with_playwright": by_playwright}[sys.argv[1]]
    way(Client(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
