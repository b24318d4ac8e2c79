// node-redis and ioredis: the client script. node node.mjs HOST PORT HTTP-URL
import assert from "node:assert/strict";
import { createClient, BasicClientSideCache } from "redis";
import Redis from "ioredis";

const [host, port, url] = process.argv.slice(2);
const ask = async (path, method = "GET", body) =>
  (await fetch(url + path, { method, body, headers: { "Content-Type": "application/json" } })).text();
const shows = async (part, read) => {
  for (const until = Date.now() + 1000; ;) {
    const got = await read();
    if (got.includes(part)) return;
    assert(Date.now() < until, `${got} has no ${part} after 1 s`);
    await new Promise((done) => setTimeout(done, 1));
  }
};
const want = await ask("/depts/10");

const node = async (RESP) => {
  const c = await createClient({ url: `redis://${host}:${port}/1`, RESP }).connect();
  assert.equal(await c.get("depts:10"), want);
  assert.equal(await c.get("depts:99"), null);
  assert.deepEqual(await c.mGet(["depts:10", "depts:99", "depts:10"]), [want, null, want]);
  assert.equal((await c.hGetAll("emps:7839")).empName, "KING");
  assert.deepEqual([await c.exists("depts:10"), await c.ttl("depts:10"), await c.type("depts:10")], [1, -1, "string"]);
  const many = await Promise.all(Array.from({ length: 100 }, (_, i) => c.hGet(`depts:${(i % 10) * 10}`, "deptName")));
  assert.equal(many.filter(Boolean).length, 40);
  assert.deepEqual(await c.multi().get("depts:10").exists("depts:99").exec(), [want, 0]);
  const keys = new Set();
  for await (const some of c.scanIterator({ MATCH: "depts:*" })) for (const k of some) keys.add(k);
  assert(keys.size >= 4);
  assert.equal(await c.hSet("depts:10", "deptLocation", "HERE"), 0);
  assert.equal(await c.hGet("depts:10", "deptLocation"), "HERE");
  assert.equal(await c.set("depts:76", '{"deptName":"NODE"}', { NX: true }), "OK");
  assert.equal(await c.del("depts:76"), 1);
  await assert.rejects(c.flushAll(), /NOPERM/);
  assert.equal(await c.ping(), "PONG");
  c.destroy();
};
await node(2);
await node(3);

const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 0 });
const cached = await createClient({ url: `redis://${host}:${port}`, RESP: 3, clientSideCache: cache }).connect();
for (let i = 0; i < 20; i++) {
  await ask("/emps/7839", "PATCH", `{"sal":${7000 + i}}`);
  await shows(`"sal":${7000 + i},`, () => cached.get("emps:7839"));
  await cached.get("emps:7839");
}
assert(cache.stats().hitCount > 0, "nothing is kept");
await ask("/emps/7839", "PATCH", '{"sal":5000}');
cached.destroy();
console.log("node-redis ok");

const io = new Redis(Number(port), host, { db: 1 });
assert.equal(await io.get("depts:10"), want && (await ask("/depts/10")));
assert.equal(await io.get("depts:99"), null);
const [a, b, c3] = await io.mget("depts:10", "depts:99", "depts:20");
assert(a && b === null && c3);
assert.equal((await io.hgetall("emps:7839")).empName, "KING");
const replies = await Promise.all(Array.from({ length: 100 }, (_, i) => io.exists(`depts:${(i % 10) * 10}`)));
assert.equal(replies.reduce((x, y) => x + y), 40);
assert.equal((await io.pipeline().get("depts:99").ttl("depts:10").exec())[1][1], -1);
await assert.rejects(io.flushall(), /NOPERM/);
assert.equal(await io.hset("depts:20", "deptLocation", "THERE"), 0);
io.disconnect();
console.log("ioredis ok");
