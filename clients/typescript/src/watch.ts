import { answered, HotrowError, unanswered } from "./error.js";
import { EventParser, type StreamEvent } from "./events.js";
import { Positions } from "./position.js";
import { backoff, Link, pause } from "./signal.js";
import type { Transport } from "./transport.js";

/** A state of a document or a list. */
export type State<T> = {
  /** What is watched, as it was asked for. */
  path: string;
  /** The state may be old: the stream is cut, or the server's change feed lags. */
  stale: boolean;
} & (
  | { absent: false; value: T; etag: string }
  | { absent: true; value: undefined; etag: undefined }
);

/** What a watch takes of its client. */
export interface Host {
  transport: Transport;
  silence: number;
  parse(text: string): unknown;
  /** Positions of the client's own writes. */
  written: Positions;
  /** Is told of each new state. */
  keep(path: string, state: State<unknown>): void;
  /** Is told that a stream is open from now on. */
  opened(): void;
}

/** What is known of one path. */
interface Slot {
  state?: State<unknown>;
  /** The state is the newest that this client knows of. */
  exact: boolean;
  /** The tag that a read has told and the stream has not; anyTag: one that nobody knows. */
  ahead?: string | undefined;
  position: string;
  /** The server has said on this stream that its feed lags. */
  lags: boolean;
}

/** The data of an event of a stream that tells of several things. */
interface OfSeveral {
  q: string;
  etag?: string;
  body?: unknown;
}

const absentTag = "absent";
const anyTag = "?";

/** The tag of a state without the quotes, the mark of a weak tag and the content coding. */
export function bareTag(etag: string | null | undefined): string {
  return etag ? etag.replace(/^W\//, "").replace(/"/g, "").replace(/\+.*$/, "") : absentTag;
}

/** Follows documents and lists over one stream, connecting anew when it ends. */
export class Watch {
  readonly #slots = new Map<string, Slot>();
  readonly #host: Host;
  readonly #link: Link;
  readonly #news = new Set<string>();
  #wake = () => {};
  #open = false;
  #heard = 0;
  #lastId = "";
  #retry = 1000 + Math.random() * 4000; // the server's own, as soon as it has told one
  #opened = false;
  #over = false;
  #failure: unknown;

  constructor(host: Host, paths: readonly string[], signal: AbortSignal | undefined) {
    this.#host = host;
    for (const path of paths) this.#slots.set(path, { exact: false, lags: false, position: "" });
    this.#link = new Link([signal, host.transport.closed]);
  }

  /** The states, the newest of each path, until the client is closed. */
  async *states(signal: AbortSignal | undefined): AsyncGenerator<State<unknown>, void, undefined> {
    const woken = () => new Promise<void>((done) => { this.#wake = done; });
    try {
      void this.#run();
      for (;;) {
        signal?.throwIfAborted();
        const path: string | undefined = this.#news.values().next().value;
        if (path !== undefined) {
          this.#news.delete(path);
          yield this.#slots.get(path)!.state!;
        } else if (this.#over) {
          if (this.#failure && !this.#host.transport.closed.aborted) throw this.#failure;
          return;
        } else {
          await woken();
        }
      }
    } finally {
      this.#link.abort();
    }
  }

  /** The state of a path if nothing newer is known. */
  exact(path: string): State<unknown> | undefined {
    const slot = this.#slots.get(path);
    const heard = Date.now() - this.#heard < this.#host.silence; // timers stand still in sleep
    return this.#open && heard && slot?.exact ? slot.state : undefined;
  }

  /** The client has written, or perhaps: what may not include that is not used any more. */
  wrote(done: boolean): void {
    for (const slot of this.#slots.values()) {
      slot.exact &&= done && this.#host.written.coveredBy(slot.position);
      if (!done) slot.ahead = anyTag;
    }
  }

  /** A read has told the tag of a path. fresh: it began after the stream, and after all writes. */
  compare(path: string, etag: string | undefined, fresh: boolean): void {
    const slot = this.#slots.get(path);
    if (!slot?.state) return;
    const same = bareTag(etag) === bareTag(slot.state.etag);
    if (!same) [slot.exact, slot.ahead] = [false, fresh ? bareTag(etag) : anyTag];
    else if (fresh && this.#open) [slot.exact, slot.ahead] = [!slot.state.stale, undefined];
  }

  /** Keeps a stream open until the watch ends. It never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#link;
    const until = Date.now() + this.#host.transport.timeout;
    try {
      for (let attempt = 0; !signal.aborted; attempt++) {
        const error = await this.#stream().catch((e: unknown) => e);
        this.#cut();
        if (error instanceof Refused) throw error.cause;
        if (error && !(error instanceof HotrowError)) throw error; // of the caller's functions
        if (!this.#opened && Date.now() >= until) throw error;
        await pause(this.#opened ? this.#retry : backoff(attempt), signal);
      }
    } catch (e) {
      this.#failure = e;
    } finally {
      this.#over = true;
      this.#link.release();
      this.#wake();
    }
  }

  /** Opens a stream and works in its events until it ends. */
  async #stream(): Promise<void> {
    const quiet = new Link([this.#link.signal]);
    let timer = setTimeout(() => quiet.abort(), this.#host.silence);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const response = await this.#host.transport.send(this.#request(), quiet.signal);
      if (!isStream(response)) await refuse(response, [...this.#slots.keys()].join(" "));
      reader = response.body!.getReader();
      const [decoder, parser] = [new TextDecoder(), new EventParser()];
      this.#open = this.#opened = true;
      this.#heard = Date.now();
      this.#host.opened();
      for (let first = true; ; ) {
        const { done, value } = await reader.read()
          .catch((e: unknown) => { throw unanswered("", e); });
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => quiet.abort(), this.#host.silence);
        this.#heard = Date.now();
        for (const e of parser.push(decoder.decode(value, { stream: true }))) await this.#take(e);
        this.#retry = parser.retry ?? this.#retry;
        // The server sends its first states with the first line: what it has left out is known.
        if (first && parser.retry !== undefined) first = this.#confirm();
      }
    } finally {
      clearTimeout(timer);
      quiet.abort();
      quiet.release();
      reader?.cancel().catch(() => {});
    }
  }

  #request() {
    const paths = [...this.#slots.keys()];
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.#lastId) headers["Last-Event-ID"] = this.#lastId;
    if (paths.length === 1) return { method: "GET", path: paths[0]!, headers };
    return { method: "POST", path: "/-/watch", headers, body: JSON.stringify({ q: paths }) };
  }

  /** Works in an event. */
  async #take(e: StreamEvent): Promise<void> {
    const [only] = this.#slots.keys();
    const several = this.#slots.size > 1;
    const of = several ? (this.#host.parse(e.data) as OfSeveral) : undefined;
    const path = of ? of.q : only!;
    const slot = this.#slots.get(path);
    if (!slot) return;
    const [position, tag] = split(e.id ?? "");
    let state: State<unknown> | undefined;
    if (e.name === "") {
      const etag = of ? of.etag! : `"${tag}"`;
      const value = of ? of.body : this.#host.parse(e.data);
      state = { path, stale: false, absent: false, value, etag };
    } else if (e.name === "absent") {
      state = absent(path);
    } else if (e.name === "changed") {
      state = await this.#read(path);
    } else if (e.name === "stale") {
      slot.lags = true;
      this.#stale(slot);
    }
    if (state) this.#tell(slot, state, position);
    if (e.id !== undefined) this.#lastId = e.id;
  }

  /** Reads a state that is too large for the stream. */
  async #read(path: string): Promise<State<unknown>> {
    const signal = this.#link.signal;
    try {
      const r = await this.#host.transport.call({ method: "GET", path, repeat: true, signal });
      const etag = `"${bareTag(r.headers.get("ETag"))}"`;
      return { path, stale: false, absent: false, value: this.#host.parse(r.text), etag };
    } catch (e) {
      if (e instanceof HotrowError && e.type === "not-found") return absent(path);
      throw e;
    }
  }

  #tell(slot: Slot, state: State<unknown>, position: string): void {
    const tag = bareTag(state.etag);
    const known = slot.state && !slot.state.stale && bareTag(slot.state.etag) === tag;
    [slot.lags, slot.position] = [false, position];
    slot.exact = this.#host.written.coveredBy(position) && (slot.ahead ?? tag) === tag;
    if (slot.exact) slot.ahead = undefined;
    this.#host.transport.positions.see(position);
    this.#set(slot, state, !known);
    this.#host.keep(state.path, state);
  }

  #set(slot: Slot, state: State<unknown>, news: boolean): void {
    slot.state = state;
    if (news) this.#news.add(state.path);
    this.#wake();
  }

  #stale(slot: Slot): void {
    slot.exact = false;
    if (slot.state && !slot.state.stale) this.#set(slot, { ...slot.state, stale: true }, true);
  }

  /** The stream is at an end. */
  #cut(): void {
    this.#open = false;
    for (const slot of this.#slots.values()) {
      slot.lags = false;
      if (!this.#link.signal.aborted) this.#stale(slot);
    }
  }

  /** The stream is open again and has told what is new. */
  #confirm(): false {
    for (const slot of this.#slots.values()) {
      if (slot.state?.stale && !slot.lags) this.#set(slot, { ...slot.state, stale: false }, true);
    }
    return false;
  }
}

/** The server will not open a stream: nothing is to be tried again. */
class Refused extends Error {
  constructor(cause: unknown) {
    super("refused", { cause });
  }
}

function absent(path: string): State<unknown> {
  return { path, stale: false, absent: true, value: undefined, etag: undefined };
}

/** The position and the tag, or tags, of an id. */
function split(id: string): [string, string] {
  const at = id.indexOf("~");
  return at < 0 ? ["", id] : [id.slice(0, at), id.slice(at + 1)];
}

function isStream(r: Response): boolean {
  return r.status === 200 && (r.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
}

async function refuse(r: Response, paths: string): Promise<never> {
  const text = await r.text().catch((e: unknown) => { throw unanswered(paths, e); });
  const error = answered(r.status, r.headers, text, paths);
  const passing = r.status === 429 || (r.status > 501 && r.status < 505) || r.status === 500;
  throw passing ? error : new Refused(error);
}
