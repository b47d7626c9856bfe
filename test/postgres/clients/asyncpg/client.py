"""The cases of the client suite, with asyncpg."""

import asyncio
import json
import ssl
import sys

import asyncpg

host, port, user, password, ca = sys.argv[1:]
settings = dict(host=host, port=int(port), user=user, password=password, database="", ssl=False, timeout=30)
if ca:
    settings["ssl"] = ssl.create_default_context(cafile=ca)


def connect(**more):
    return asyncpg.connect(**{**settings, **more})


def say(**line):
    print(json.dumps(line), flush=True)


async def case(name, act):
    try:
        say(case=name, value=str(await act()))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as e:
        say(case=name, sqlstate=getattr(e, "sqlstate", None) or "", error=str(e))


async def cancel(connection):
    # asyncpg cancels the query of a task that is cancelled, and of one that times out.
    # Nothing else tells whether the server ended it: the session must not be busy.
    try:
        await connection.execute("select pg_sleep(60)", timeout=0.3)
        return "it is not cancelled"
    except TimeoutError:
        pass
    other = await connect()
    try:
        while await other.fetchval("select count(*) from pg_stat_activity where state = 'active' and query ~ '^select pg_sleep'"):
            pass
    finally:
        await other.close()
    return await connection.fetchval("select 'cancelled'")


async def result(connection):
    total = 0
    async with connection.transaction():
        async for row in connection.cursor("select repeat('x', 65536) from generate_series(1, 1024)", prefetch=64):
            total += len(row[0])
    return total


async def notify(connection):
    listener = await connect()
    heard = asyncio.get_running_loop().create_future()
    await listener.add_listener("news", lambda *news: heard.set_result(news[3]))
    await connection.execute("select pg_sleep(1)")
    await connection.execute("notify news, 'hello'")
    payload = await asyncio.wait_for(heard, 20)
    await listener.close()
    return payload


async def prepared(connection):
    statement = await connection.prepare("select $1::int + 1")
    return ",".join([str(await statement.fetchval(n)) for n in (41, 42)])


async def copy_in(connection):
    await connection.execute("create temp table copied (n int)")
    await connection.copy_records_to_table("copied", records=[(n,) for n in range(10_000)])
    return await connection.fetchval("select count(*) from copied")


async def copy_out(connection):
    lines = 0

    async def count(chunk):
        nonlocal lines
        lines += chunk.count(b"\n")

    await connection.copy_from_table("copied", output=count)
    return lines


async def login(connection):
    row = await connection.fetchrow("select current_user, current_database()")
    return "|".join(row)


async def restart(connection):
    say(case="waiting")
    await connection.execute("select pg_sleep(60)")
    return "it goes on"


async def main():
    connection = await connect()
    await case("login", lambda: login(connection))
    await case("password", lambda: connect(password="wrong"))
    await case("cancel", lambda: cancel(connection))
    await case("parameter", lambda: connection.fetchval("select length($1)", "x" * (1 << 20)))
    await case("result", lambda: result(connection))
    await case("notify", lambda: notify(connection))
    await case("prepared", lambda: prepared(connection))
    await case("copy in", lambda: copy_in(connection))
    await case("copy out", lambda: copy_out(connection))
    await case("restart", lambda: restart(connection))


asyncio.run(main())
