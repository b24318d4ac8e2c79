/** A database of which no types are known. */
export type AnyDatabase = {
  public: {
    Tables: {
      [name: string]: {
        Row: Record<string, unknown>;
        Insert: Record<string, unknown>;
        Update: Record<string, unknown>;
      };
    };
  };
};

type Tables<DB> = DB extends { public: { Tables: infer T } } ? T : never;
type Member<DB, N, M extends string> =
  N extends keyof Tables<DB> ? (Tables<DB>[N] extends { [_ in M]: infer T } ? T : never) : never;

/** The names of the resources of a database. */
export type Resource<DB> = Extract<keyof Tables<DB>, string>;
/** What is read of a resource. */
export type Row<DB, N> = Member<DB, N, "Row">;
/** What makes a document of a resource. */
export type Insert<DB, N> = Member<DB, N, "Insert">;
/** The members of a document that may be changed. */
export type Update<DB, N> = Member<DB, N, "Update">;

type Part = string | number | bigint;
/** A key; that of several columns is an array. */
export type Key = Part | readonly Part[];

/** The parameters of a list. An array is sent as several parameters of the name. */
export type Query = {
  [name: string]: string | number | readonly string[] | undefined;
  select?: string;
  order?: string;
  limit?: number;
  offset?: number;
};

/** The text of a query, which begins with "?" unless it is empty. */
export function queryText(query: Query | string): string {
  if (typeof query === "string") return query && !query.startsWith("?") ? `?${query}` : query;
  const list = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) list.append(name, String(one));
  }
  return String(list) && `?${list}`;
}

/** The path of a document or, without a key, of the lists of a resource. */
export function pathOf(resource: string, key?: Key): string {
  const path = `/${encodeURIComponent(resource)}`;
  if (key === undefined) return path;
  const parts: readonly Part[] = typeof key === "object" ? key : [key];
  return `${path}/${parts.map((p) => encodeURIComponent(String(p))).join(",")}`;
}
