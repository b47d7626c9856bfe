#!/bin/bash
# The cases of the client suite, with psql and the libpq under it.
set -u
export PGHOST=$1 PGPORT=$2 PGUSER=$3 PGPASSWORD=$4 PGSSLMODE=disable
unset PGDATABASE PGOPTIONS PGSERVICE
if [ -n "$5" ]; then
	export PGSSLMODE=verify-full PGSSLROOTCERT=$5
fi

# sql runs queries and prints what they give.
sql() {
	psql -X -At -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$@"
}

quote() {
	printf '"%s"' "$(tr '\n\t' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

# run says what a command prints or, if it fails, the error. libpq tells the SQLSTATE of
# a server's error after its severity.
run() {
	local name=$1 out
	shift
	if out="$("$@" 2>&1)"; then
		printf '{"case":"%s","value":%s}\n' "${name}" "$(quote <<<"${out}" | sed 's/ "$/"/')"
	else
		printf '{"case":"%s","sqlstate":"%s","error":%s}\n' "${name}" \
			"$(sed -nE 's/.*(ERROR|FATAL): +([0-9A-Z]{5}):.*/\2/p' <<<"${out}" | head -1)" "$(quote <<<"${out}")"
	fi
}

wrong() {
	PGPASSWORD=wrong sql -c 'select 1'
}

# An interrupt makes psql cancel, once its query runs.
cancel() {
	local number
	export PGAPPNAME=cancelled-$$
	( exec psql -X -v VERBOSITY=verbose -c "select pg_sleep(60)" ) &
	number=$!
	until [ "$(PGAPPNAME=watch sql -c "select count(*) from pg_stat_activity where state = 'active' and application_name = '${PGAPPNAME}'")" = 1 ]; do :; done
	kill -INT "${number}"
	wait "${number}"
}

# psql 15 has no parameters of the protocol: the megabyte is in the query.
parameter() {
	{
		printf "select length('"
		head -c 1048576 /dev/zero | tr '\0' x
		printf "');\n"
	} | sql -f -
}

result() {
	sql -c "select repeat('x', 65536) from generate_series(1, 1024)" | tr -d '\n' | wc -c
}

# psql looks for notifications after each query.
notify() {
	sql <<-'SQL' | sed -nE 's/.*with payload "([^"]*)" .*/\1/p'
		listen news;
		\! psql -X -q -c "select pg_sleep(1)" -c "notify news, 'hello'" >/dev/null
		select 1;
	SQL
}

prepared() {
	sql -q <<-'SQL' | paste -sd,
		prepare next(int) as select $1 + 1;
		execute next(41);
		execute next(42);
	SQL
}

copy_in() {
	seq 10000 >"${file}"
	sql -q -c "set client_min_messages = warning" -c "drop table if exists copied" -c "create table copied (n int)" -c "\\copy copied from '${file}'" -c "select count(*) from copied"
}

copy_out() {
	sql -q -c "\\copy copied to stdout" | wc -l
}

restart() {
	sql -c "\\! echo '{\"case\":\"waiting\"}' >&3" -c "select pg_sleep(60)"
}

file="$(mktemp)"
trap 'rm -f "${file}"' EXIT
exec 3>&1
run login sql -c "select current_user, current_database()"
run password wrong
run cancel cancel
run parameter parameter
run result result
run notify notify
run prepared prepared
run "copy in" copy_in
run "copy out" copy_out
run restart restart
