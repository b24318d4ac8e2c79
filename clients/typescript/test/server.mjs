// A hotrow over a SQLite file that is stopped and started again, and a proxy that breaks.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { tmpdir } from "node:os";

process.on("unhandledRejection", (e) => {
  console.error("unhandled rejection:", e);
  process.exit(1);
});

/** Waits until a condition holds, a minute at most, and returns its value. */
export async function until(what, condition) {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const value = await condition();
    if (value) return value;
    await new Promise((done) => setTimeout(done, 5));
  }
  throw new Error(`a minute has passed, and still not: ${what}`);
}

/** hotrow over a new file with the tables of a schema, for as long as the test runs. */
export class Server {
  #dir = mkdtempSync(join(tmpdir(), "hotrow-"));
  #file = join(this.#dir, "app.db");
  #port = 0;
  #process;

  static async start(t, schema, env = {}) {
    const s = new Server();
    s.env = env;
    t.after(async () => {
      await s.stop("SIGKILL");
      rmSync(s.#dir, { recursive: true });
    });
    s.sql(`PRAGMA journal_mode = WAL; ${schema}`);
    await s.start();
    return s;
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Changes the file as another program does. */
  sql(text) {
    return execFileSync("sqlite3", ["-cmd", ".timeout 10000", this.#file, text], { encoding: "utf8" }).trim();
  }

  async start() {
    const off = Object.fromEntries(
      ["OPS", "WIRE", "RESP", "MEMCACHE", "LINKS"].map((name) => [`HOTROW_${name}_LISTEN`, "off"]));
    const env = { ...process.env, ...off, HOTROW_HTTP_LISTEN: `127.0.0.1:${this.#port}`, ...this.env };
    const child = spawn(process.env.HOTROW, ["serve", "--writable", this.#file], { env });
    this.#process = child;
    let log = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (d) => { log += d; });
    child.on("exit", (code) => { log += `it has ended with ${code}`; });
    const said = () => /proto=http addr=\S+:(\d+)/.exec(log);
    await until("hotrow listens", () => {
      if (child.exitCode !== null) throw new Error(log);
      return said();
    });
    this.#port = Number(said()[1]);
    await until("hotrow answers", () => fetch(this.url).then((r) => r.ok, () => false));
  }

  async stop(signal = "SIGTERM") {
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    await ended;
  }
}

/** A proxy in front of a server. breaks says of each request what becomes of it; by default nothing. */
export async function breaking(t, server, breaks) {
  const proxy = { open: 0, requests: [], breaks };
  const front = http.createServer(async (from, to) => {
    proxy.open++;
    to.on("close", () => { proxy.open--; });
    const body = Buffer.concat(await from.toArray());
    proxy.requests.push({ method: from.method, url: from.url, headers: from.headers });
    const how = proxy.breaks?.(from, proxy.requests.length) ?? {};
    if (how.hang) return;
    if (how.cutBefore) return to.destroy();
    if (how.status) return to.writeHead(how.status, how.headers).end(how.body);
    const onward = http.request(server.url + from.url, {
      method: from.method, headers: { ...from.headers, host: new URL(server.url).host }, agent: false,
    }, (answer) => {
      if (how.cutAfter) return answer.resume().on("end", () => to.destroy());
      to.writeHead(answer.statusCode, answer.headers);
      answer.on("error", () => to.destroy()).pipe(to);
    });
    to.on("close", () => onward.destroy());
    onward.on("error", () => to.destroy()).end(body);
  });
  await new Promise((done) => front.listen(0, "127.0.0.1", done));
  t.after(() => { front.closeAllConnections(); front.close(); });
  proxy.url = `http://127.0.0.1:${front.address().port}`;
  return proxy;
}

/** The states of a watch: next gives the next one. It ends with the test. */
export function following(t, db, paths, options) {
  const states = db.watch(paths, options);
  t.after(() => db.close());
  return {
    next: async () => (await states.next()).value,
    /** The first state that fits. */
    async find(fits) {
      for (;;) {
        const { value, done } = await states.next();
        if (done) throw new Error("the watch is at an end");
        if (await fits(value)) return value;
      }
    },
    states,
  };
}
