import assert from "node:assert/strict";
import test from "node:test";
import { connect } from "hotrow";
import { breaking, following, Server, until } from "./server.mjs";

const schema = `
CREATE TABLE depts (id INTEGER PRIMARY KEY, n INTEGER, note TEXT);
INSERT INTO depts VALUES (10, 0, 'é'), (20, 0, NULL), (30, 0, NULL);`;

test("a row that another program changes and deletes is watched", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url);
  const row = following(t, db, db.path("depts", 10));
  const first = await row.next();
  assert.deepEqual([first.path, first.value, first.stale], ["/depts/10", { id: 10, n: 0, note: "é" }, false]);
  assert.equal(first.etag, (await db.get("depts", 10)).etag);
  server.sql("UPDATE depts SET n = 1 WHERE id = 10");
  assert.equal((await row.next()).value.n, 1);
  server.sql("DELETE FROM depts WHERE id = 10");
  const gone = await row.next();
  assert.deepEqual([gone.absent, gone.value], [true, undefined]);
  server.sql("INSERT INTO depts VALUES (10, 2, NULL)");
  assert.equal((await row.next()).value.n, 2);
});

test("states are no log: the last is never left out", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url);
  const row = following(t, db, "/depts/10");
  await row.next();
  for (let n = 1; n <= 50; n++) await db.update("depts", 10, { n });
  let last = 0;
  await row.find((s) => {
    assert(s.value.n > last, `${s.value.n} after ${last}`);
    last = s.value.n;
    return last === 50;
  });
});

test("several at a time, and a list", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const db = connect(proxy.url);
  const list = db.path("depts", undefined, { n: "gt.0", order: "n.desc" });
  const all = following(t, db, ["/depts/10", "/depts/99", list]);
  const first = [await all.next(), await all.next(), await all.next()];
  assert.deepEqual(first.map((s) => s.path), ["/depts/10", "/depts/99", list]);
  assert.deepEqual([first[0].value.note, first[1].absent, first[2].value], ["é", true, []]);
  server.sql("UPDATE depts SET n = id WHERE id > 10");
  assert.deepEqual((await all.next()).value.map((r) => r.id), [30, 20]);
  server.sql("INSERT INTO depts VALUES (99, 0, NULL)");
  assert.equal((await all.next()).value.id, 99);
  assert.deepEqual(proxy.requests.map((r) => `${r.method} ${r.url}`), ["POST /-/watch"]);
});

test("a state that is too large for the stream is read", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url, { nearCache: 10 });
  for (const path of ["/depts/20", ["/depts/20", "/depts/10"]]) {
    server.sql("UPDATE depts SET note = 'x' WHERE id = 20");
    const row = following(t, db, path);
    await row.find((s) => s.value.note === "x");
    server.sql("UPDATE depts SET note = printf('%.100000c', 'y') WHERE id = 20");
    const large = await row.find((s) => s.path === "/depts/20" && s.value.note !== "x");
    assert.equal(large.value.note, "y".repeat(100_000));
    assert.equal((await db.get("depts", 20)).from, "watch");
    server.sql("DELETE FROM depts WHERE id = 20");
    await row.find((s) => s.absent);
    server.sql("INSERT INTO depts VALUES (20, 0, NULL)");
    await row.states.return();
  }
});

test("a watch goes on through restarts", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const db = connect(proxy.url);
  const one = following(t, db, "/depts/10");
  const two = following(t, db, ["/depts/10", "/depts/20"]);
  const first = await one.next();
  await two.next();
  await two.next();
  for (const [signal, change] of [["SIGTERM", false], ["SIGKILL", true]]) {
    await server.stop(signal);
    for (const w of [one, two, two]) assert.deepEqual((await w.next()).stale, true);
    if (change) server.sql("UPDATE depts SET n = 7 WHERE id = 10");
    await server.start();
    const back = await one.next();
    assert.deepEqual([back.stale, back.value.n], [false, change ? 7 : 0]);
    if (!change) assert.equal(back.etag, first.etag);
    const both = { [(await two.next()).path]: 1, [(await two.next()).path]: 1 };
    assert.deepEqual(Object.keys(both).sort(), ["/depts/10", "/depts/20"]);
  }
  const ids = proxy.requests.filter((r) => r.url === "/depts/10").map((r) => r.headers["last-event-id"]);
  assert.deepEqual([ids[0], ids.at(-1).includes(first.etag.slice(1, -1))], [undefined, true]);
  server.sql("UPDATE depts SET n = 8 WHERE id = 10");
  await one.find((s) => s.value.n === 8 && !s.stale);
  await two.find((s) => s.value.n === 8 && !s.stale);
});

test("a stream on which nothing comes is given up", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server, (_, n) => (n === 1 ? { hang: true } : undefined));
  const db = connect(proxy.url, { silence: 300 });
  const row = following(t, db, "/depts/10");
  assert.equal((await row.next()).value.n, 0); // by the second request
  assert.equal((await row.next()).stale, true); // 300 ms are less than there is between two comments
});

test("what cannot be watched is said", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url, { timeout: 300 });
  const fails = (paths) => following(t, db, paths).next().then(() => assert.fail("it is watched"), (e) => e);
  assert.equal((await fails("/nothing/1")).type, "not-found");
  assert.equal((await fails("/depts/x")).type, "bad-key");
  assert.match((await fails(["/depts/10", "/depts?nope=eq.1"])).detail, /nope/);
  assert(await fails("depts/10") instanceof TypeError);
  await server.stop();
  assert.equal((await fails("/depts/10")).type, "unavailable"); // there was never a stream
});

test("watches are aborted, left and closed", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const db = connect(proxy.url);
  const reason = new Error("enough");
  const stop = new AbortController();
  const states = db.watch("/depts/10", { signal: stop.signal });
  await states.next();
  const waiting = states.next();
  stop.abort(reason);
  await assert.rejects(waiting, reason);
  for await (const s of db.watch(["/depts/10", "/depts/20"])) {
    assert.equal(s.value.n, 0);
    break;
  }
  await until("no stream is open", () => proxy.open === 0);
  const n = proxy.requests.length;
  const aborted = db.watch("/depts/10", { signal: stop.signal });
  await assert.rejects(aborted.next(), reason);
  const left = [db.watch("/depts/10"), db.watch("/depts/20")];
  for (const w of left) await w.next();
  const ends = left.map((w) => w.next());
  db.close();
  for (const end of ends) assert.equal((await end).done, true);
  await until("no stream is open", () => proxy.open === 0);
  assert.equal(proxy.requests.length, n + 2);
});
