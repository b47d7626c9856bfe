"""A spider that crawls pages of a site that bans addresses; one JSON line for each page.

    python spider.py LEASE_API URL-WITH-{} PAGES [SETTING=VALUE …]

At its end it says how often what happened.
"""

import json
import sys
from typing import Any, AsyncIterator, Dict

import scrapy
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):
    name = "pages"
    handle_httpstatus_list = [403, 429]

    def __init__(self, pattern: str, pages: int) -> None:
        super().__init__()
        self.pattern, self.pages = pattern, pages

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for n in range(1, self.pages + 1):
            yield scrapy.Request(self.pattern.format(n), self.parse, errback=self.failed, cb_kwargs={"n": n})

    def parse(self, response: Any, n: int) -> None:
        text = response.text.strip()
        print(json.dumps({"page": n, "status": response.status, "proxy": response.meta["egress_proxy"], "text": text}), flush=True)

    def failed(self, failure: Any) -> None:
        print(json.dumps({"page": failure.request.cb_kwargs["n"], "error": failure.type.__name__, "text": str(failure.value)}), flush=True)


def main(api: str, pattern: str, pages: str, *settings: str) -> None:
    told: Dict[str, Any] = {
        "DOWNLOADER_MIDDLEWARES": {"gatehouse_egress.scrapy.LeaseMiddleware": 740},
        "GATEHOUSE_EGRESS_URL": api,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
    }
    told.update((name, json.loads(value)) for name, value in (s.split("=", 1) for s in settings))
    process = CrawlerProcess(told)
    crawler = process.create_crawler(Pages)
    process.crawl(crawler, pattern=pattern, pages=int(pages))
    process.start()
    assert crawler.stats is not None
    stats = crawler.stats.get_stats()
    print(json.dumps({"stats": {k.split("/")[1]: v for k, v in stats.items() if k.startswith("gatehouse_egress/")}}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
