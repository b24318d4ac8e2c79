import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Server } from "./server.mjs";

const page = (url) => `<!doctype html><script type="module">
import { connect } from "/hotrow/index.js";
const told = [];
try {
  const db = connect("${url}", { nearCache: 10, fetch: async (...a) => {
    const r = await fetch(...a);
    if (r.status === 304) told.push(r.headers.get("Cache-Status"));
    return r;
  } });
  await db.get("depts", 10);
  told.push((await db.get("depts", 10)).from);
  let next = "?limit=1";
  while (next) ({ next } = await db.list("depts", next));
  for await (const s of db.watch(["/depts/10", "/depts/20"])) {
    told.push(s.path + " " + s.value.n + " " + (await db.get("depts", 10)).from);
    if (s.value.n === 7) break;
    if (s.path === "/depts/20") await fetch("/change", { method: "POST" });
  }
  const failed = await db.get("depts", 99).catch((e) => e);
  told.push(failed.status + " " + failed.type);
} catch (e) {
  told.push(String(e));
}
fetch("/told", { method: "POST", body: JSON.stringify(told) });
</script>`;

test("a page of another origin reads and watches in Chromium", async (t) => {
  const dist = fileURLToPath(new URL(".", import.meta.resolve("hotrow")));
  let server;
  const told = new Promise((done) => {
    const site = http.createServer(async (from, to) => {
      const body = Buffer.concat(await from.toArray()).toString();
      if (from.url === "/told") done(JSON.parse(body));
      if (from.url === "/change") server.sql("UPDATE depts SET n = 7 WHERE id = 10");
      if (from.url.startsWith("/hotrow/")) {
        to.setHeader("Content-Type", "text/javascript");
        return to.end(readFileSync(join(dist, basename(from.url))));
      }
      to.writeHead(200, { "Content-Type": "text/html" }).end(from.url === "/" ? page(server.url) : "");
    }).listen(0, "127.0.0.1", async () => {
      const origin = `http://127.0.0.1:${site.address().port}`;
      server = await Server.start(t, `CREATE TABLE depts (id INTEGER PRIMARY KEY, n INTEGER);
        INSERT INTO depts VALUES (10, 1), (20, 2);`, { HOTROW_HTTP_CORS_ORIGINS: origin });
      const profile = mkdtempSync(join(tmpdir(), "chromium-"));
      const browser = spawn(process.env.CHROMIUM, ["--headless", "--no-sandbox", "--disable-gpu",
        "--remote-debugging-port=0", `--user-data-dir=${profile}`, `${origin}/`], { stdio: "ignore" });
      browser.on("error", (e) => done([String(e)]));
      t.after(async () => {
        const ended = new Promise((gone) => browser.once("exit", gone));
        browser.kill("SIGTERM"); // it ends its own processes
        await ended;
        rmSync(profile, { recursive: true, maxRetries: 50 });
        site.closeAllConnections();
        site.close();
      });
    });
  });
  assert.deepEqual(await told, [
    "hotrow; hit; detail=mem", "copy", // the browser has not asked for the database's word
    "/depts/10 1 watch", "/depts/20 2 watch", "/depts/10 7 watch", "404 not-found",
  ]);
});
