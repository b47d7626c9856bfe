#!/bin/sh
# Puts Scrapy, requests and Playwright into Gatehouse's cache directory, for the tests of the
# clients of the lease API, with what checks and builds the client of Python. Playwright
# drives the Chromium of "make chromium".
set -eu
. "$(dirname "$0")/wheels.sh"

wheels crawlers -c 'import scrapy, requests, playwright.sync_api, flit_core, mypy'
