import { HotrowError } from "./error.js";
import { Positions } from "./position.js";
import { type Call, type Options, type Reply, Transport } from "./transport.js";
import {
  type AnyDatabase, type Insert, type Key, pathOf, type Query, queryText, type Resource, type Row,
  type Update,
} from "./types.js";
import { bareTag, type State, Watch } from "./watch.js";

/** A document as it was read. */
export interface Document<T> {
  row: T;
  etag: string;
  /** Where it is from: an open watch, a copy that the server has confirmed, the server. */
  from: "watch" | "copy" | "server";
}

/** What a write has left. */
export interface Written<T> {
  /** The document after the write; undefined: it was not asked for, or may not be read. */
  row: T | undefined;
  etag: string | undefined;
  created: boolean;
  /** The path of a new document. */
  location: string | undefined;
}

/** One page of a list. */
export interface Page<T> {
  rows: T[];
  etag: string | undefined;
  /** How many rows there are, where they were counted. */
  total: number | undefined;
  /** The query of the next page; undefined: this is the last. */
  next: string | undefined;
}

export interface WatchOptions {
  signal?: AbortSignal | undefined;
}
export interface ReadOptions extends WatchOptions {
  /** Has the server read the database now. */
  noCache?: boolean | undefined;
}
export interface ListOptions extends ReadOptions {
  count?: "exact" | "planned" | "estimated" | undefined;
}
export interface WriteOptions extends WatchOptions {
  /** Writes only if the document has this entity tag; "*": if there is one. */
  ifMatch?: string | undefined;
  /** Writes only if there is no such document. */
  ifAbsent?: boolean | undefined;
  /** Leaves the document out of the answer. */
  minimal?: boolean | undefined;
}

/** Returns a client of the hotrow at a URL. It connects with its first call. */
export function connect<DB = AnyDatabase>(url: string, options: Options = {}): Client<DB> {
  return new Client<DB>(url, options);
}

/** A client of one hotrow. Calls are rejected with HotrowError, or the reason of their signal. */
export class Client<DB = AnyDatabase> {
  readonly #transport: Transport;
  readonly #options: Options;
  readonly #written = new Positions();
  readonly #watches = new Set<Watch>();
  readonly #copies = new Map<string, { row: unknown; etag: string }>(); // the last used is the last
  #epoch = 0; // a write has ended, or a stream was opened

  constructor(url: string, options: Options = {}) {
    this.#options = options;
    this.#transport = new Transport(url, options);
  }

  /** Reads a document. */
  async get<N extends Resource<DB>, T = Row<DB, N>>(
    resource: N, key: Key, options: ReadOptions = {},
  ): Promise<Document<T>> {
    const path = pathOf(resource, key);
    const told = options.noCache ? undefined : this.#exact(path);
    if (told?.absent) throw notFound(path);
    if (told) return { row: told.value as T, etag: told.etag, from: "watch" };
    const [copy, epoch] = [this.#copies.get(path), this.#epoch];
    const headers = { ...read(options), ...(copy && { "If-None-Match": copy.etag }) };
    const call = { method: "GET", path, headers, repeat: true, signal: options.signal };
    const reply = await this.#transport.call(call).catch((e: unknown) => {
      if (e instanceof HotrowError && e.type === "not-found") {
        this.#copies.delete(path);
        this.#compare(path, undefined, epoch);
      }
      throw e;
    });
    const same = reply.status === 304 && copy !== undefined;
    const doc = same ? copy : { row: this.#parse(reply.text), etag: etagOf(reply) ?? "" };
    this.#keep(path, doc);
    // The read includes all writes of this client, so that its position may stand for theirs.
    if (epoch === this.#epoch) this.#written.rebase(reply.headers.get("Hotrow-Position"));
    this.#compare(path, doc.etag, epoch);
    return { row: doc.row as T, etag: doc.etag, from: same ? "copy" : "server" };
  }

  /** Reads a page of a list. The query of a later page is the text that next was. */
  async list<N extends Resource<DB>, T = Row<DB, N>>(
    resource: N, query: Query | string = {}, options: ListOptions = {},
  ): Promise<Page<T>> {
    const count = options.count && { Prefer: `count=${options.count}` };
    const headers = { ...read(options), ...count };
    const path = pathOf(resource) + queryText(query);
    const reply = await this.#transport.call(
      { method: "GET", path, headers, repeat: true, signal: options.signal });
    // The address of a link has the path that the server knows: behind a proxy it may be another.
    const next = /<[^?>]*(\?[^>]*)>\s*;\s*rel="?next"?/.exec(reply.headers.get("Link") ?? "")?.[1];
    const total = /\/(\d+)$/.exec(reply.headers.get("Content-Range") ?? "")?.[1];
    const rows = this.#parse(reply.text) as T[];
    return { rows, etag: etagOf(reply), next, total: total ? Number(total) : undefined };
  }

  /** The pages of a list, from the first on. limit is how many rows a page has. */
  async *pages<N extends Resource<DB>, T = Row<DB, N>>(
    resource: N, query: Query | string = {}, options: ListOptions = {},
  ): AsyncGenerator<Page<T>, void, undefined> {
    for (let at: Query | string | undefined = query; at !== undefined; ) {
      const page: Page<T> = await this.list<N, T>(resource, at, options);
      yield page;
      at = page.next;
    }
  }

  /** Makes a document. It is never sent twice where the first may have been taken. */
  create<N extends Resource<DB>>(resource: N, row: Insert<DB, N>, options: WriteOptions = {}) {
    return this.#write<Row<DB, N>>("POST", pathOf(resource), row, options, false);
  }

  /** Replaces a document, or makes it. */
  replace<N extends Resource<DB>>(
    resource: N, key: Key, row: Insert<DB, N>, options: WriteOptions = {},
  ) {
    return this.#write<Row<DB, N>>("PUT", pathOf(resource, key), row, options, true);
  }

  /** Changes the members of a document that are given (a merge patch, RFC 7396). */
  update<N extends Resource<DB>>(
    resource: N, key: Key, members: Update<DB, N>, options: WriteOptions = {},
  ) {
    const again = options.ifMatch !== undefined && options.ifMatch !== "*";
    return this.#write<Row<DB, N>>("PATCH", pathOf(resource, key), members, options, again);
  }

  /** Deletes a document. */
  async remove<N extends Resource<DB>>(
    resource: N, key: Key, options: WriteOptions = {},
  ): Promise<void> {
    await this.#write("DELETE", pathOf(resource, key), undefined, options, true);
  }

  /**
   * The states of documents and lists, each a path with its query: the state of now, then each new
   * one. States may be left out, the last never. It ends when the client is closed.
   */
  async *watch<T = unknown>(
    paths: string | readonly string[], options: WatchOptions = {},
  ): AsyncGenerator<State<T>, void, undefined> {
    const list = typeof paths === "string" ? [paths] : paths;
    if (list.length === 0 || list.some((p) => !p.startsWith("/"))) {
      throw new TypeError(`hotrow: watch takes paths as /depts/10, not ${JSON.stringify(paths)}`);
    }
    const watch = new Watch({
      transport: this.#transport,
      silence: this.#options.silence ?? 20_000,
      parse: (text) => this.#parse(text),
      written: this.#written,
      keep: (path, s) => {
        if (s.absent) this.#copies.delete(path);
        else if (/^\/[^/]+\/[^?]+$/.test(path)) this.#keep(path, { row: s.value, etag: s.etag });
      },
      opened: () => { this.#epoch++; },
    }, list, options.signal);
    this.#watches.add(watch);
    try {
      yield* watch.states(options.signal) as AsyncGenerator<State<T>, void, undefined>;
    } finally {
      this.#watches.delete(watch);
    }
  }

  /** The path of a document or, without a key, of a list with a query: for watch. */
  path(resource: Resource<DB>, key?: Key, query: Query | string = {}): string {
    return pathOf(resource, key) + queryText(query);
  }

  /** The tokens of what this client has seen, for the see of another. */
  position(): string {
    return String(this.#transport.positions);
  }

  /** Has reads include what another client has seen. */
  see(position: string): void {
    this.#transport.positions.see(position);
  }

  /** Ends the watches, and the calls that are under way. */
  close(): void {
    this.#transport.close();
    this.#copies.clear();
  }

  async #write<T>(
    method: string, path: string, body: unknown, o: WriteOptions, repeat: boolean,
  ): Promise<Written<T>> {
    const headers: Record<string, string> = {};
    if (o.ifMatch !== undefined) headers["If-Match"] = o.ifMatch;
    if (o.ifAbsent) headers["If-None-Match"] = "*";
    if (o.minimal) headers["Prefer"] = "return=minimal";
    const call: Call = { method, path, headers, repeat, signal: o.signal };
    if (body !== undefined) call.body = (this.#options.stringify ?? JSON.stringify)(body);
    let done = false;
    try {
      const reply = await this.#transport.call(call);
      done = true;
      this.#written.see(reply.headers.get("Hotrow-Position"));
      return {
        row: reply.text ? (this.#parse(reply.text) as T) : undefined,
        etag: etagOf(reply),
        created: reply.status === 201,
        location: reply.headers.get("Location") ?? undefined,
      };
    } finally {
      this.#epoch++;
      for (const w of this.#watches) w.wrote(done);
    }
  }

  #exact(path: string): State<unknown> | undefined {
    if (!this.#options.nearCache || this.#transport.closed.aborted) return undefined;
    for (const w of this.#watches) {
      const state = w.exact(path);
      if (state) return state;
    }
    return undefined;
  }

  #compare(path: string, etag: string | undefined, epoch: number): void {
    for (const w of this.#watches) w.compare(path, etag, epoch === this.#epoch);
  }

  #keep(path: string, doc: { row: unknown; etag: string }): void {
    this.#copies.delete(path);
    if (!this.#options.nearCache || !doc.etag || this.#transport.closed.aborted) return;
    this.#copies.set(path, doc);
    const [oldest] = this.#copies.keys();
    if (this.#copies.size > this.#options.nearCache) this.#copies.delete(oldest!);
  }

  /** Copies are shared by all who read them: their values are frozen. */
  #parse(text: string): unknown {
    const value = (this.#options.parse ?? JSON.parse)(text);
    return this.#options.nearCache ? freeze(value) : value;
  }
}

function read(o: ReadOptions): Record<string, string> {
  return o.noCache ? { "Cache-Control": "no-cache" } : {};
}

function etagOf(reply: Reply): string | undefined {
  const tag = reply.headers.get("ETag");
  return tag === null ? undefined : `"${bareTag(tag)}"`;
}

function notFound(path: string): HotrowError {
  return new HotrowError({
    status: 404, type: "not-found", code: "HR404", detail: "there is nothing here", instance: path,
  });
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}
