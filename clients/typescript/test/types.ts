// tsc --strict compiles this against the package; it is never run.
import { connect, HotrowError, type Row, type State } from "hotrow";
import type { Database } from "./database.js";

export async function typed(signal: AbortSignal): Promise<string | null> {
  const db = connect<Database>("http://127.0.0.1:8080", { token: "hrt_x", nearCache: 100 });
  const { row, etag } = await db.get("depts", 10, { signal });
  const name: string = row.name;
  const loc: string | null = row.loc;
  const page = await db.list("depts", { loc: "eq.OSLO", id: ["gte.1", "lt.9"], limit: 10 }, { count: "exact" });
  const total: number | undefined = page.total;
  for await (const { rows } of db.pages("depts", { order: "name" })) rows.map((r) => r.id + 1);
  const made = await db.create("depts", { name: "SALES" });
  await db.replace("depts", 10, { id: 10, name });
  await db.update("depts", 10, { loc }, { ifMatch: etag, signal });
  await db.remove("cities", ["Tulsa", "OK"], { ifMatch: "*" });
  const chosen = await db.list<"depts", { pay: number }>("depts", { select: "pay:id" });
  chosen.rows[0]!.pay.toFixed(total);
  for await (const s of db.watch<Row<Database, "depts">>(db.path("depts", 10), { signal })) {
    if (!s.absent) return s.value.loc;
  }
  const state: State<number> = { path: "/", stale: false, absent: true, value: undefined, etag: undefined };

  // @ts-expect-error there is no such resource
  await db.get("emps", 1);
  // @ts-expect-error no such member
  row.nothing;
  // @ts-expect-error a name is a text
  await db.update("depts", 10, { name: 5 });
  // @ts-expect-error a new row has a name
  await db.create("depts", { loc: "OSLO" });
  // @ts-expect-error it may be null
  row.loc.length;
  // @ts-expect-error it may be left out
  made.row.id;
  return state.path;
}

export async function untyped(): Promise<unknown> {
  const db = connect("http://127.0.0.1:8080");
  await db.create("anything", { a: 1 });
  try {
    return (await db.get("anything", "x")).row["a"];
  } catch (e) {
    if (e instanceof HotrowError && e.status === 404) return e.hint;
    throw e;
  }
}
