/** A signal that follows others, and ends after a time in milliseconds if one is given. */
export class Link {
  readonly #controller = new AbortController();
  readonly #others: AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #end = () => this.#controller.abort();
  timedOut = false;

  constructor(others: (AbortSignal | undefined)[], ms?: number) {
    this.#others = others.filter((s) => s !== undefined);
    for (const s of this.#others) {
      if (s.aborted) this.#end();
      else s.addEventListener("abort", this.#end, { once: true });
    }
    if (ms !== undefined && Number.isFinite(ms)) {
      this.#timer = setTimeout(() => { this.timedOut = true; this.#end(); }, ms);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the signal. */
  abort(): void {
    this.#end();
  }

  /** Lets go of the others and of the timer. */
  release(): void {
    clearTimeout(this.#timer);
    for (const s of this.#others) s.removeEventListener("abort", this.#end);
  }
}

/** Waits so many milliseconds, or until the signal ends. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) return done();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** A pause before an attempt, 0 being the first: doubled each time, of random length. */
export function backoff(attempt: number): number {
  const most = Math.min(50 * 2 ** attempt, 1000);
  return most / 2 + (Math.random() * most) / 2;
}
