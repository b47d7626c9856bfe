// The cases of the client suite, with node-postgres.
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";

const [host, port, user, password, ca] = process.argv.slice(2);
const settings = { host, port: Number(port), user, password, ssl: ca ? { ca: readFileSync(ca) } : false };

async function connect(more) {
  const client = new pg.Client({ ...settings, ...more });
  client.on("error", () => {}); // the query that runs says it too
  await client.connect();
  return client;
}

const say = (line) => console.log(JSON.stringify(line));

async function run(name, act) {
  try {
    say({ case: name, value: String(await act()) });
  } catch (e) {
    say({ case: name, sqlstate: e.code ?? "", error: String(e.message) });
  }
}

// The driver cancels in clear, on a socket of its own.
async function cancel(client) {
  const query = new pg.Query("select pg_sleep(60)");
  client.query(query);
  const again = setInterval(() => {
    // A cancel that overtakes its query is in vain.
    const canceller = new pg.Client({ ...settings, ssl: false });
    canceller.on("error", () => {});
    canceller.connection.on("error", () => {});
    canceller.cancel(client, query);
  }, 300);
  const answer = new Promise((resolve, reject) => query.on("end", resolve).on("error", reject));
  await answer.finally(() => clearInterval(again));
  return "it is not cancelled";
}

async function value(client, text, values) {
  return Object.values((await client.query(text, values)).rows[0]).join("|");
}

async function result(client) {
  const { rows } = await client.query("select repeat('x', 65536) as x from generate_series(1, 1024)");
  return rows.reduce((sum, row) => sum + row.x.length, 0);
}

async function notify(client) {
  const listener = await connect();
  const heard = new Promise((resolve) => listener.on("notification", (news) => resolve(news.payload)));
  await listener.query("listen news");
  await client.query("select pg_sleep(1)");
  await client.query("notify news, 'hello'");
  const payload = await heard;
  await listener.end();
  return payload;
}

async function prepared(client) {
  const out = [];
  for (const n of [41, 42]) {
    const { rows } = await client.query({ name: "next", text: "select $1::int + 1 as next", values: [n] });
    out.push(rows[0].next);
  }
  return out.join(",");
}

async function copyIn(client) {
  await client.query("create temp table copied (n int)");
  const lines = Array.from({ length: 10_000 }, (_, n) => `${n}\n`);
  await pipeline(Readable.from(lines), client.query(copyFrom("copy copied from stdin")));
  return value(client, "select count(*) from copied");
}

async function copyOut(client) {
  let lines = 0;
  for await (const chunk of client.query(copyTo("copy copied to stdout"))) {
    lines += chunk.toString().split("\n").length - 1;
  }
  return lines;
}

async function restart(client) {
  say({ case: "waiting" });
  await client.query("select pg_sleep(60)");
  return "it goes on";
}

const client = await connect();
await run("login", () => value(client, "select current_user, current_database()"));
await run("password", () => connect({ password: "wrong" }));
await run("cancel", () => cancel(client));
await run("parameter", () => value(client, "select length($1)", ["x".repeat(1 << 20)]));
await run("result", () => result(client));
await run("notify", () => notify(client));
await run("prepared", () => prepared(client));
await run("copy in", () => copyIn(client));
await run("copy out", () => copyOut(client));
await run("restart", () => restart(client));
process.exit();
