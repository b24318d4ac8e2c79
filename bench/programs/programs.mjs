// Asks for a document by its key, again and again, by one client of Node: see bench/README.md.
// node programs.mjs CLIENT URL FIRST KEYS CALLERS WARMUP SECONDS
const [client, url, ...numbers] = process.argv.slice(2);
const [first, keys, callers, warmup, seconds] = numbers.map(Number);
const at = new URL(url);

const clients = {
  "ioredis": async () => {
    const { default: Redis } = await import("ioredis");
    const r = new Redis(Number(at.port), at.hostname);
    return [(n) => r.get(`depts:${n}`), () => r.disconnect()];
  },
  "node-redis": async () => {
    const { createClient } = await import("redis");
    const r = await createClient({ url }).connect();
    return [(n) => r.get(`depts:${n}`), () => r.destroy()];
  },
  "node-redis-cached": async () => {
    const { createClient, BasicClientSideCache } = await import("redis");
    const clientSideCache = new BasicClientSideCache({ ttl: 0, maxEntries: 0 });
    const r = await createClient({ url, RESP: 3, clientSideCache }).connect();
    return [(n) => r.get(`depts:${n}`), () => r.destroy()];
  },
  "fetch": async () => [async (n) => (await fetch(`${url}/depts/${n}`)).text(), () => {}],
  "pg": async () => {
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: url, max: callers });
    const ask = async (n) => (await pool.query({ name: "doc", text: "SELECT doc FROM docs WHERE id = $1", values: [n] })).rows[0].doc;
    return [ask, () => pool.end()];
  },
};
const [ask, close] = await clients[client]();
let failed = 0;
const run = async (until, times) => {
  let count = 0;
  const caller = async () => {
    for (let i = 0; ; i++) {
      const began = performance.now();
      if (began >= until) return;
      const answer = await ask(first + Math.floor(Math.random() * keys));
      if (!answer || answer.length < 1000) failed++;
      count++;
      if (i % 16 === 0) times.push(performance.now() - began);
      // A copy comes without a wait: others get their turn.
      if (i % 256 === 255) await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return count;
};
for (let n = 0; n < keys; n++) await ask(first + n);
const before = keys + (await run(performance.now() + warmup * 1000, []));
const times = [], used = process.cpuUsage(), began = performance.now();
const answers = await run(began + seconds * 1000, times);
const took = (performance.now() - began) / 1000, cpu = process.cpuUsage(used);
times.sort((a, b) => a - b);
console.log(JSON.stringify({
  answers, all: before + answers, failed, seconds: took, user_us: cpu.user, system_us: cpu.system,
  p50_us: times[times.length >> 1] * 1000, p99_us: times[Math.floor(times.length * 0.99)] * 1000,
}));
await close();
process.exit(0);
