/** The members of an error that a client may branch on. */
export interface Problem {
  /** The status of HTTP; 0: there was no answer. */
  status: number;
  /**
   * What it is: the end of the problem's type ("not-found", "conflict"), "http" for an answer that
   * is not hotrow's, and what the client itself says: "unavailable" (no answer), "timeout",
   * "outcome-unknown" (a write of which nobody knows whether it was done), "closed".
   */
  type: string;
  /** The database's own code, PostgREST's, or "HR" and the status. */
  code?: string;
  title?: string;
  detail?: string;
  /** The database's own detail. */
  details?: string | null;
  hint?: string | null;
  /** The path of the request. */
  instance?: string;
  /** The seconds after which another attempt makes sense. */
  retryAfter?: number | undefined;
}

/** What every call is rejected with, but for the reason of an aborted signal. */
export class HotrowError extends Error implements Problem {
  override readonly name = "HotrowError";
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly details: string | null;
  readonly hint: string | null;
  readonly instance: string;
  readonly retryAfter: number | undefined;

  constructor(p: Problem, cause?: unknown) {
    super(`${p.instance ?? ""}: ${p.detail ?? p.title ?? p.type}`.replace(/^: /, ""), { cause });
    this.status = p.status;
    this.type = p.type;
    this.code = p.code ?? "";
    this.title = p.title ?? "";
    this.detail = p.detail ?? "";
    this.details = p.details ?? null;
    this.hint = p.hint ?? null;
    this.instance = p.instance ?? "";
    this.retryAfter = p.retryAfter;
  }
}

/** The error of an answer, and whether hotrow itself has given it. */
export function answered(
  status: number, headers: Headers, text: string, instance: string,
): HotrowError {
  const after = Number(headers.get("Retry-After") ?? NaN);
  const base = { status, instance, retryAfter: after >= 0 ? after : undefined };
  if (headers.get("Content-Type")?.startsWith("application/problem+json")) {
    try {
      const p = JSON.parse(text) as Problem;
      return new HotrowError({ ...p, ...base, type: String(p.type).replace(/^.*\//, "") });
    } catch {
      // It was cut: the status says enough.
    }
  }
  const redirected = status === 0 || (status > 300 && status < 400);
  return new HotrowError({
    ...base,
    type: "http",
    detail: redirected ? "the server leads to another address" : `the answer is HTTP ${status}`,
    hint: redirected ? "connect to the address that it leads to" : null,
  });
}

/** The error of a request that was not answered, or not to the end. */
export function unanswered(instance: string, cause: unknown): HotrowError {
  const detail = "the server has not answered";
  return new HotrowError({ status: 0, instance, type: "unavailable", detail }, cause);
}

/** The error of a write of which nobody knows whether it was done. */
export function outcomeUnknown(instance: string, cause: unknown, status = 0): HotrowError {
  return new HotrowError({
    status, instance, type: "outcome-unknown",
    detail: "it is unknown whether the write has happened",
    hint: "read the document before you write again",
  }, cause);
}
