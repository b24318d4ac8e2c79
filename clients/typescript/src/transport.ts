import { answered, HotrowError, outcomeUnknown, unanswered } from "./error.js";
import { Positions } from "./position.js";
import { backoff, Link, pause } from "./signal.js";

/** How a client is made. */
export interface Options {
  /** What hotrow token NAME has printed, or a JWT; a function is asked before each request. */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Makes the requests (globalThis.fetch). */
  fetch?: typeof fetch | undefined;
  /** The milliseconds that a call takes at most, all attempts together (10,000). */
  timeout?: number | undefined;
  /** How many documents are kept in the client at most (0: none). */
  nearCache?: number | undefined;
  /** The milliseconds of silence after which a watch connects anew (20,000). */
  silence?: number | undefined;
  /** Reads bodies and writes them (JSON.parse, JSON.stringify): for integers beyond 2^53. */
  parse?: ((text: string) => unknown) | undefined;
  stringify?: ((value: unknown) => string) | undefined;
}

/** One call: a request that may be sent several times. */
export interface Call {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Whether it may be done twice. */
  repeat: boolean;
  signal?: AbortSignal | undefined;
}

/** An answer that is no error. */
export interface Reply {
  status: number;
  headers: Headers;
  text: string;
}

/** An answer, or an error and whether it was perhaps done; undefined: that is for the caller. */
type Attempt = [Reply] | [undefined, HotrowError, boolean | undefined];

const gone: Reply = { status: 204, headers: new Headers(), text: "" };

// What fetch of Node says when no connection was made: the request has not been sent.
const notSent = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"];

/** Sends requests. */
export class Transport {
  readonly positions = new Positions();
  readonly timeout: number;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #token: Options["token"];
  readonly #closed = new AbortController();

  constructor(url: string, o: Options) {
    const base = new URL(url);
    if (!/^https?:$/.test(base.protocol) || base.search || base.hash || base.username) {
      throw new TypeError(`hotrow: ${url} is not http://HOST:PORT or https://HOST:PORT`);
    }
    this.#base = base.href.replace(/\/+$/, "");
    this.#fetch = o.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#token = o.token;
    this.timeout = o.timeout ?? 10_000;
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Ends all that is under way. */
  close(): void {
    this.#closed.abort();
  }

  /** Sends one request, whatever comes of it. */
  async send(c: Omit<Call, "repeat">, signal: AbortSignal): Promise<Response> {
    // Without this fetch would send no-cache by itself, and hotrow would read the database.
    const headers = new Headers({ Accept: "application/json", "Cache-Control": "no-store" });
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (token) headers.set("Authorization", `Bearer ${token}`);
    const seen = String(this.positions);
    if (seen) headers.set("Hotrow-Min-Position", seen);
    if (c.body !== undefined) headers.set("Content-Type", "application/json");
    for (const [name, value] of Object.entries(c.headers ?? {})) headers.set(name, value);
    const init: RequestInit = {
      method: c.method, headers, body: c.body ?? null, signal, cache: "no-store",
      redirect: "manual",
    };
    try {
      return await this.#fetch(this.#base + c.path, init);
    } catch (e) {
      throw unanswered(c.path, e);
    }
  }

  /** Makes a call, again while that can do no harm and there is time. */
  async call(c: Call): Promise<Reply> {
    const until = Date.now() + this.timeout;
    const link = new Link([c.signal, this.closed], this.timeout);
    let doubt = false; // an attempt may have done what is asked for
    try {
      for (let attempt = 0; ; attempt++) {
        const [reply, error, begun] = await this.#attempt(c, link, doubt);
        if (reply) return reply;
        // An earlier attempt that was not answered has perhaps done it.
        if (doubt && c.method === "DELETE" && error.status === 404) return gone;
        if (doubt && error.status === 412) throw outcomeUnknown(c.path, error, error.status);
        if (begun === undefined) throw error;
        doubt ||= begun;
        if (begun && !c.repeat) throw outcomeUnknown(c.path, error, error.status);
        const wait = Math.max(backoff(attempt), (error.retryAfter ?? 0) * 1000);
        if (Date.now() + wait >= until) throw this.#late(c, doubt, error);
        await pause(wait, link.signal);
      }
    } finally {
      link.release();
    }
  }

  async #attempt(c: Call, link: Link, doubt: boolean): Promise<Attempt> {
    this.#stopped(c, link, doubt);
    try {
      const response = await this.send(c, link.signal);
      const { status, headers } = response;
      const text = await response.text().catch((e: unknown) => { throw unanswered(c.path, e); });
      this.positions.see(headers.get("Hotrow-Position"));
      if (response.ok || status === 304) return [{ status, headers, text }];
      const error = answered(status, headers, text, c.path);
      return [undefined, error, begun(error)];
    } catch (e) {
      if (!(e instanceof HotrowError)) throw e; // the function that gives the token has failed
      this.#stopped(c, link, true);
      return [undefined, e, !isNotSent(e.cause)];
    }
  }

  /** Throws if a call has been ended. */
  #stopped(c: Call, link: Link, doubt: boolean): void {
    if (!link.signal.aborted) return;
    if (c.signal?.aborted) throw c.signal.reason;
    const type = link.timedOut ? "timeout" : "closed";
    const late = `there was no answer within ${this.timeout} ms`;
    const detail = link.timedOut ? late : "the client is closed";
    throw this.#late(c, doubt, new HotrowError({ status: 0, type, detail, instance: c.path }));
  }

  #late(c: Call, doubt: boolean, error: HotrowError): HotrowError {
    return doubt && c.method !== "GET" ? outcomeUnknown(c.path, error, error.status) : error;
  }
}

function isNotSent(e: unknown): boolean {
  const cause = (e as { cause?: { code?: string } } | undefined)?.cause;
  return notSent.includes(cause?.code ?? "");
}

/** Whether what an error answers was perhaps done; undefined: the error is for the caller. */
function begun(e: HotrowError): boolean | undefined {
  if (e.status === 503 && e.retryAfter === undefined) return undefined;
  if (e.type !== "http") { // hotrow's own word
    return e.status === 503 && e.type !== "outcome-unknown" ? false : undefined;
  }
  return e.status === 502 || e.status === 503 || e.status === 504 ? true : undefined;
}
