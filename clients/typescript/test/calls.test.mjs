import assert from "node:assert/strict";
import test from "node:test";
import { connect, HotrowError } from "hotrow";
import { breaking, Server } from "./server.mjs";

const schema = `
CREATE TABLE depts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, loc TEXT);
INSERT INTO depts VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', NULL), (30, 'SALES', 'OSLO');
CREATE TABLE cities (city TEXT, state TEXT, n INTEGER, PRIMARY KEY (city, state)) WITHOUT ROWID;
INSERT INTO cities VALUES ('Tulsa', 'OK', 1), ('a,b/c', '100%', 2);
CREATE TABLE many (id INTEGER PRIMARY KEY, big INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
INSERT INTO many SELECT i, 9007199254740993 FROM n;`;

/** The members of the error that a call is rejected with. */
async function refused(call) {
  const e = await call.then(() => assert.fail("it was not refused"), (e) => e);
  assert(e instanceof HotrowError, e);
  return e;
}

test("documents are read", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(`${server.url}/`);
  const { row, etag, from } = await db.get("depts", 10);
  assert.deepEqual([row, from], [{ id: 10, name: "ACCOUNTING", loc: "NEW YORK" }, "server"]);
  assert.match(etag, /^"[^"+]+"$/);
  assert.equal((await db.get("cities", ["Tulsa", "OK"])).row.n, 1);
  assert.equal((await db.get("cities", ["a,b/c", "100%"])).row.n, 2);
  const none = await refused(db.get("depts", 11));
  assert.deepEqual([none.status, none.type, none.code, none.instance],
    [404, "not-found", "HR404", "/depts/11"]);
  const bad = await refused(db.get("depts", "x"));
  assert.deepEqual([bad.status, bad.type, bad.hint], [400, "bad-key", "GET / shows an example key of each resource"]);
  assert.throws(() => connect("hotrow://127.0.0.1:9900"), TypeError);
});

test("lists have pages", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url);
  const names = async (query) => (await db.list("depts", query)).rows.map((r) => r.name);
  assert.deepEqual(await names({ loc: "is.null" }), ["RESEARCH"]);
  assert.deepEqual(await names({ id: ["gte.20", "lt.30"], order: "name.desc", select: "name" }), ["RESEARCH"]);
  assert.deepEqual(await names({ or: "(name.eq.SALES,id.eq.10)", loc: undefined }), ["ACCOUNTING", "SALES"]);
  const first = await db.list("many", { limit: 100 }, { count: "exact" });
  assert.deepEqual([first.rows.length, first.total], [100, 250]);
  assert.equal((await db.list("many", first.next)).rows[0].id, 101);
  const ids = [];
  for await (const page of db.pages("many", { limit: 100, order: "id.desc" })) ids.push(page.rows.map((r) => r.id));
  assert.deepEqual(ids.map((p) => p.length), [100, 100, 50]);
  assert.deepEqual(ids.flat(), Array.from({ length: 250 }, (_, i) => 250 - i));
  const bad = await refused(db.list("depts", { nope: "eq.1" }));
  assert.deepEqual([bad.status, bad.code], [400, "42703"]);
});

test("integers beyond 2^53 are for a parser of the caller's own", async (t) => {
  const server = await Server.start(t, schema);
  const parse = (text) => JSON.parse(text.replace(/:(\d{16,})/g, ':"$1n"'), (_, v) =>
    typeof v === "string" && /^\d+n$/.test(v) ? BigInt(v.slice(0, -1)) : v);
  const stringify = (value) => JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v))
    .replace(/"(\d+)n"/g, "$1");
  const db = connect(server.url, { parse, stringify });
  const { row } = await db.get("many", 1);
  assert.equal(row.big, 9007199254740993n);
  await db.replace("many", 1, { ...row, big: row.big + 2n });
  assert.equal(server.sql("SELECT big FROM many WHERE id = 1"), "9007199254740995");
});

test("documents are written", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url);
  const made = await db.create("depts", { id: 40, name: "OPERATIONS" });
  assert.deepEqual([made.created, made.location, made.row.loc], [true, "/depts/40", null]);
  const twice = await refused(db.create("depts", { id: 41, name: "OPERATIONS" }));
  assert.deepEqual([twice.status, twice.type], [409, "conflict"]);
  assert.notEqual(twice.code, "HR409"); // the database's own
  const changed = await db.update("depts", 40, { loc: "ROME" }, { ifMatch: made.etag });
  assert.deepEqual([changed.row.loc, changed.row.name, changed.created], ["ROME", "OPERATIONS", false]);
  const late = await refused(db.update("depts", 40, { loc: "BONN" }, { ifMatch: made.etag }));
  assert.deepEqual([late.status, late.type], [412, "precondition-failed"]);
  assert.equal((await refused(db.remove("depts", 40, { ifMatch: made.etag }))).status, 412);
  assert.equal((await refused(db.replace("depts", 40, { name: "X" }, { ifAbsent: true }))).status, 412);
  const put = await db.replace("depts", 50, { name: "NEW", loc: null }, { ifAbsent: true, minimal: true });
  assert.deepEqual([put.created, put.row], [true, undefined]);
  await db.remove("depts", 50);
  assert.equal((await refused(db.remove("depts", 50))).status, 404);
  assert.equal(server.sql("SELECT group_concat(id || loc) FROM depts WHERE id > 30"), "40ROME");
});

test("reads include what was written and seen", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const [db, other] = [connect(proxy.url, { token: async () => "hrt_x" }), connect(proxy.url)];
  await db.update("depts", 10, { loc: "PARIS" });
  const position = db.position();
  assert.match(position, /^hr1\.main\.[^.]+\.[0-9a-f]+$/);
  await db.get("depts", 10);
  other.see(`${position}; lag=0.1`);
  assert.equal((await other.get("depts", 10)).row.loc, "PARIS");
  other.see(Array.from({ length: 40 }, (_, i) => `hr1.s${i}.x.${i}`).join()); // no more than a header holds
  other.see("hr1.s39.x.2, hr1.s39"); // older ones, and what is none
  await other.list("depts");
  const [write, read, seen, many] = proxy.requests.map((r) => r.headers);
  assert.deepEqual([write["hotrow-min-position"], read["hotrow-min-position"]], [undefined, position]);
  assert.deepEqual([read.authorization, seen.authorization], ["Bearer hrt_x", undefined]);
  assert.equal(seen["hotrow-min-position"], position);
  const tokens = many["hotrow-min-position"].split(",");
  assert.deepEqual([tokens.length, tokens.at(-1)], [16, "hr1.s39.x.39"]);
});

test("calls are repeated while the server is away", async (t) => {
  const server = await Server.start(t, schema);
  const db = connect(server.url, { timeout: 60_000 });
  await db.get("depts", 10);
  await server.stop();
  let over = 0;
  const calls = [db.get("depts", 10), db.list("depts"), db.replace("depts", 60, { name: "A" }),
    db.create("depts", { id: 61, name: "B" }), db.update("depts", 20, { loc: "X" })];
  for (const c of calls) c.then(() => over++, () => over++);
  const away = await refused(connect(server.url, { timeout: 300 }).get("depts", 10));
  assert.deepEqual([away.status, away.type], [0, "unavailable"]);
  assert.equal(over, 0);
  await server.start();
  await Promise.all(calls);
  assert.equal(server.sql("SELECT group_concat(name) FROM depts WHERE id > 60 OR loc = 'X'"), "RESEARCH,B");
});

test("a write of which nobody knows is repeated only where that does no harm", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const db = connect(proxy.url);
  const once = (how) => { // with the next request alone
    const n = proxy.requests.length + 1;
    proxy.breaks = (_, i) => (i === n ? how : undefined);
    return () => proxy.requests.length - n + 1;
  };
  let sent = once({ cutAfter: true });
  assert.equal((await refused(db.create("depts", { id: 70, name: "A" }))).type, "outcome-unknown");
  assert.deepEqual([sent(), server.sql("SELECT name FROM depts WHERE id = 70")], [1, "A"]);
  sent = once({ cutBefore: true });
  assert.equal((await refused(db.create("depts", { id: 71, name: "B" }))).type, "outcome-unknown");
  assert.deepEqual([sent(), server.sql("SELECT count(*) FROM depts WHERE id = 71")], [1, "0"]);
  sent = once({ cutAfter: true });
  assert.equal((await refused(db.update("depts", 70, { loc: "X" }))).type, "outcome-unknown");
  assert.equal(sent(), 1);
  sent = once({ cutAfter: true });
  await db.replace("depts", 70, { name: "C" });
  assert.equal(sent(), 2);
  const { etag } = await db.get("depts", 70);
  once({ cutBefore: true });
  assert.equal((await db.update("depts", 70, { loc: "Y" }, { ifMatch: etag })).row.loc, "Y");
  const now = await db.get("depts", 70);
  once({ cutAfter: true }); // the second attempt meets the first
  const met = await refused(db.update("depts", 70, { loc: "Z" }, { ifMatch: now.etag }));
  assert.deepEqual([met.type, met.status], ["outcome-unknown", 412]);
  sent = once({ cutAfter: true });
  await db.remove("depts", 70);
  assert.deepEqual([sent(), server.sql("SELECT count(*) FROM depts WHERE id = 70")], [2, "0"]);
});

test("answers of those in between", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server);
  const [db, hasty] = [connect(proxy.url), connect(proxy.url, { timeout: 300 })];
  const problem = (type) => ({ status: 503, headers: { "Content-Type": "application/problem+json", "Retry-After": "0" },
    body: JSON.stringify({ type: `/-/problems/${type}`, status: 503, detail: "so it is", code: "HR503" }) });
  const answers = async (call, ...hows) => { // these come first; how often was it sent?
    const n = proxy.requests.length;
    proxy.breaks = (_, i) => hows[i - n - 1];
    const result = await call().then(() => "ok", (e) => `${e.type} ${e.status}`);
    return `${result}, sent ${proxy.requests.length - n}`;
  };
  const read = () => db.get("depts", 10);
  const make = () => db.create("depts", { id: 80, name: "A" });
  const retry = { status: 503, headers: { "Retry-After": "0" } };
  assert.equal(await answers(read, { status: 502 }, { status: 504 }, retry), "ok, sent 4");
  assert.equal(await answers(read, { status: 503 }), "http 503, sent 1");
  assert.equal(await answers(read, { status: 500 }), "http 500, sent 1");
  assert.equal(await answers(read, { status: 301, headers: { Location: "/x" } }), "http 301, sent 1");
  assert.equal(await answers(make, { status: 502 }), "outcome-unknown 502, sent 1");
  assert.equal(await answers(make, retry), "outcome-unknown 503, sent 1");
  assert.equal(await answers(make, problem("outcome-unknown")), "outcome-unknown 503, sent 1");
  assert.equal(await answers(() => db.remove("depts", 30), problem("outcome-unknown")), "outcome-unknown 503, sent 1");
  assert.equal(await answers(make, problem("starting"), problem("database-busy")), "ok, sent 3");
  proxy.breaks = () => ({ status: 502 });
  assert.equal((await refused(hasty.get("depts", 10))).status, 502);
  proxy.breaks = () => ({ status: 503, headers: { "Retry-After": "3600" } });
  assert.equal((await refused(db.get("depts", 10))).retryAfter, 3600); // at once: there is no time for that
  proxy.breaks = () => ({ hang: true });
  assert.equal((await refused(hasty.get("depts", 10))).type, "timeout");
  assert.equal((await refused(hasty.create("depts", { id: 81, name: "B" }))).type, "outcome-unknown");
});

test("calls are aborted", async (t) => {
  const server = await Server.start(t, schema);
  const proxy = await breaking(t, server, () => ({ hang: true }));
  const db = connect(proxy.url);
  const reason = new Error("enough");
  const stop = new AbortController();
  const calls = [db.get("depts", 10, { signal: stop.signal }), db.list("depts", {}, { signal: stop.signal }),
    db.remove("depts", 10, { signal: stop.signal })].map((c) => assert.rejects(c, reason));
  stop.abort(reason);
  await Promise.all(calls);
  await assert.rejects(db.get("depts", 10, { signal: stop.signal }), reason);
  const hung = refused(db.get("depts", 10));
  db.close();
  assert.equal((await hung).type, "closed");
  assert.equal((await refused(db.get("depts", 10))).type, "closed");
  const failing = connect(server.url, { token: () => { throw reason; } });
  await assert.rejects(failing.get("depts", 10), reason);
});
