// Package crawlers sends crawlers and browsers through the fleet: the real "gatehouse fleet"
// with real proxies, each at an address of its own, and targets that ban addresses. Every
// crawler leases, is banned, reports, and gets all of its pages from other addresses.
//
// curl and Python's own library need nothing but what other tests need. Scrapy, requests,
// Playwright with Chromium, and what checks and builds the client of Python, run where
// $GATEHOUSE_CLIENTS names them or says "all"; hack/fetch-crawlers.sh brings them.
package crawlers
