import assert from "node:assert/strict";
import test from "node:test";
import { connect } from "hotrow";
import { breaking, following, Server, until } from "./server.mjs";

const schema = `
CREATE TABLE depts (id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO depts VALUES (10, 0), (20, 0), (30, 0);`;

test("a copy without a watch is confirmed by the server, from its memory", async (t) => {
  const server = await Server.start(t, schema);
  const told = [];
  const db = connect(server.url, {
    nearCache: 2,
    fetch: async (...a) => {
      const r = await fetch(...a);
      told.push(`${r.status} ${r.headers.get("Cache-Status")}`);
      return r;
    },
  });
  const from = async (key, options) => (await db.get("depts", key, options)).from;
  await from(10);
  assert.deepEqual([await from(10), told.at(-1)], ["copy", "304 hotrow; hit; detail=mem"]);
  const { row } = await db.get("depts", 10);
  assert.throws(() => { row.n = 5; }, TypeError); // all who read it share it
  server.sql("UPDATE depts SET n = 1 WHERE id = 10");
  await until("the change is seen", async () => (await db.get("depts", 10)).row.n === 1);
  await from(10, { noCache: true });
  assert.match(told.at(-1), /fwd=request/);
  for (const key of [20, 30]) assert.equal(await from(key), "server");
  assert.deepEqual([await from(20), await from(10)], ["copy", "server"]); // two are kept
  server.sql("DELETE FROM depts WHERE id = 10");
  await until("the row is gone", () => db.get("depts", 10).then(() => false, (e) => e.status === 404));
});

test("a copy is never older than its watch, nor than what was read, nor than the client's own writes", async (t) => {
  const server = await Server.start(t, schema);
  const [db, other] = [connect(server.url, { nearCache: 10 }), connect(server.url)];
  const counts = { watch: 0, copy: 0, server: 0 };
  let least = 0; // what was seen, told or written last
  const seen = (n) => { least = Math.max(least, n); };
  const read = async () => {
    const before = least;
    const { row, etag, from } = await db.get("depts", 10);
    counts[from]++;
    assert(row.n >= before, `${row.n} from ${from}, where ${before} was seen before`);
    seen(row.n);
    return { n: row.n, etag };
  };
  const last = 100_000;
  const raise = async (client, now) => { // by one, unless another was faster
    const done = await client.update("depts", 10, { n: now.n + 1 }, { ifMatch: now.etag })
      .catch((e) => assert.equal(e.status, 412));
    return done?.row.n ?? 0;
  };
  let rounds = 0;
  await Promise.all([
    (async () => {
      const row = following(t, db, ["/depts/10", "/depts/20"]);
      await row.find(async (s) => {
        if (s.path !== "/depts/10") return false;
        seen(s.value.n);
        await read(); // never older than what the watch has told
        return s.value.n === last;
      });
    })(),
    (async () => {
      for (; rounds < 100; rounds++) {
        const { row, etag } = await other.get("depts", 10);
        await raise(other, { n: row.n, etag });
      }
      await other.update("depts", 10, { n: last });
    })(),
    (async () => {
      while (rounds < 100) seen(await raise(db, await read()));
    })(),
    (async () => {
      while (least < last) {
        await read();
        await new Promise(setImmediate);
      }
    })(),
  ]);
  t.diagnostic(`reads from: ${JSON.stringify(counts)}`);
  assert(counts.watch > 100 && counts.copy + counts.server > 0, JSON.stringify(counts));
});

test("a copy is exact while its watch is open, and only then", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const db = connect(proxy.url, { nearCache: 10 });
  const from = async (key) => (await db.get("depts", key)).from;
  const row = following(t, db, "/depts/10");
  await row.next();
  assert.deepEqual([await from(10), await from(20)], ["watch", "server"]);
  await db.update("depts", 20, { n: 1 }); // a trigger could have changed the other
  assert.deepEqual([await from(10), await from(10)], ["copy", "watch"]);
  await db.update("depts", 10, { n: 1 });
  assert.equal((await db.get("depts", 10)).row.n, 1);
  await row.find((s) => s.value.n === 1);
  await until("it is exact again", async () => (await from(10)) === "watch");
  const n = proxy.requests.length;
  for (let i = 0; i < 100; i++) await from(10);
  assert.equal(proxy.requests.length, n);

  await server.stop();
  assert.equal((await row.next()).stale, true);
  server.sql("UPDATE depts SET n = 2 WHERE id = 10");
  await server.start();
  assert.deepEqual(await db.get("depts", 10).then((d) => [d.row.n, d.from]), [2, "server"]);
  await row.find((s) => s.value.n === 2 && !s.stale);
  await until("it is exact again", async () => (await from(10)) === "watch");

  server.sql("DELETE FROM depts WHERE id = 10");
  await row.find((s) => s.absent);
  const before = proxy.requests.length;
  await assert.rejects(db.get("depts", 10), { status: 404, type: "not-found" });
  assert.equal(proxy.requests.length, before);
  await row.states.return();
  await assert.rejects(db.get("depts", 10), { status: 404 });
  assert.equal(proxy.requests.length, before + 1);
});
