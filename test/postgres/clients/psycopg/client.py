"""The cases of the client suite, with psycopg 3."""

import json
import sys
import threading

import psycopg

host, port, user, password, ca = sys.argv[1:]
settings = dict(host=host, port=port, user=user, password=password, sslmode="disable", autocommit=True)
if ca:
    settings.update(sslmode="verify-full", sslrootcert=ca)


def connect(**more):
    return psycopg.connect(**{**settings, **more})


def say(**line):
    print(json.dumps(line), flush=True)


def case(name, act):
    try:
        say(case=name, value=str(act()))
    except psycopg.Error as e:
        # An error while connecting is one of libpq, which tells no SQLSTATE.
        say(case=name, sqlstate=e.sqlstate or "", error=str(e))


def cancel():
    over = threading.Event()

    def repeat():  # a cancel that overtakes its query is in vain
        while not over.wait(0.3):
            connection.cancel_safe()

    repeating = threading.Thread(target=repeat)
    repeating.start()
    try:
        connection.execute("select pg_sleep(60)")
        return "it is not cancelled"
    finally:
        over.set()
        repeating.join()


def result():
    with psycopg.ServerCursor(connection, "big", withhold=True) as cursor:
        cursor.itersize = 64
        cursor.execute("select repeat('x', 65536) from generate_series(1, 1024)")
        return sum(len(row[0]) for row in cursor)


def notify():
    with connect() as listener:
        listener.execute("listen news")
        connection.execute("select pg_sleep(1)")
        connection.execute("notify news, 'hello'")
        return next(listener.notifies(timeout=20)).payload


def prepared():
    answers = [connection.execute("select %s::int + 1", [n], prepare=True).fetchone()[0] for n in (41, 42)]
    return ",".join(map(str, answers))


def copy_in():
    connection.execute("create temp table copied (n int)")
    with connection.cursor().copy("copy copied from stdin") as copy:
        for n in range(10_000):
            copy.write_row([n])
    return connection.execute("select count(*) from copied").fetchone()[0]


def copy_out():
    with connection.cursor().copy("copy copied to stdout") as copy:
        return sum(1 for _ in copy.rows())


def restart():
    say(case="waiting")
    connection.execute("select pg_sleep(60)")
    return "it goes on"


connection = connect()
case("login", lambda: "|".join(connection.execute("select current_user, current_database()").fetchone()))
case("password", lambda: connect(password="wrong"))
case("cancel", cancel)
case("parameter", lambda: connection.execute("select length(%s)", ["x" * (1 << 20)]).fetchone()[0])
case("result", result)
case("notify", notify)
case("prepared", prepared)
case("copy in", copy_in)
case("copy out", copy_out)
case("restart", restart)
