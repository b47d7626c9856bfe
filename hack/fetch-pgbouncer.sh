#!/bin/sh
# Makes sure that PgBouncer is here, which the database router's speed is compared with.
# Does nothing when it is; starts no service; safe to run twice at once; prints one line
# with its version.
set -eu

policy=
. "$(dirname "$0")/debian.sh"

fail() {
	echo "fetch-pgbouncer: $*" >&2
	exit 1
}

trap '[ -z "${policy}" ] || rm -f "${policy}"' EXIT
trap 'exit 1' HUP INT TERM

# bouncer prints where it is; Debian puts it where only root looks.
bouncer() {
	PATH="${PATH}:/usr/sbin" command -v pgbouncer
}

there=" (already there)"
path="$(bouncer)" || {
	there=
	install_package pgbouncer && path="$(bouncer)" ||
		fail "no PgBouncer: install it (Debian: as root, apt-get install --no-install-recommends pgbouncer)"
}
echo "$("${path}" --version | head -n 1): ${path}${there}"
