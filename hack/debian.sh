# Sourced by scripts that may install a Debian package. They clean up ${policy}, which is
# empty or a file, when they end.
# shellcheck shell=sh

# install_package takes a Debian package in its present version: security updates take old ones
# off the archive, so there is nothing to pin.
install_package() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
	# Debian's packages start their service unless this program says no (101).
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		policy=/usr/sbin/policy-rc.d
		printf '#!/bin/sh\nexit 101\n' >"${policy}"
		chmod 0755 "${policy}"
	fi
	export DEBIAN_FRONTEND=noninteractive
	lock="-o DPkg::Lock::Timeout=120"
	# shellcheck disable=SC2086 # two words
	apt-get install -q -y --no-install-recommends ${lock} "$1" >&2 ||
		{ apt-get update -q >&2 && apt-get install -q -y --no-install-recommends ${lock} "$1" >&2; }
}
