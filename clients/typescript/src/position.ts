const maxSources = 16;

/** The newest position of each source that was seen: "hr1.SOURCE.ORIGIN.HEX". */
export class Positions {
  readonly #newest = new Map<string, { text: string; origin: string; at: bigint }>();

  /** Takes in tokens with commas between them. What is none is passed over. */
  see(tokens: string | null | undefined): void {
    for (const token of (tokens ?? "").split(",")) {
      const p = parse(token);
      if (!p) continue;
      const old = this.#newest.get(p.source);
      if (old && old.origin === p.origin && old.at >= p.at) continue;
      this.#newest.delete(p.source);
      this.#newest.set(p.source, p);
      const [oldest] = this.#newest.keys();
      if (this.#newest.size > maxSources) this.#newest.delete(oldest!);
    }
  }

  /** Takes in a token of another origin: what came before is compared with nothing then. */
  rebase(token: string | null): void {
    const p = parse(token ?? "");
    const old = p && this.#newest.get(p.source);
    if (old && old.origin !== p.origin) this.#newest.set(p.source, p);
  }

  /** Whether a state of a position surely includes what was seen of its source. */
  coveredBy(token: string): boolean {
    if (this.#newest.size === 0) return true;
    const p = parse(token);
    const seen = p && this.#newest.get(p.source);
    return p !== undefined && (!seen || (seen.origin === p.origin && p.at >= seen.at));
  }

  /** The tokens as the header has them; "": none. */
  toString(): string {
    return [...this.#newest.values()].map((p) => p.text).join(",");
  }
}

function parse(token: string) {
  const m = /^\s*(hr1\.([^.;]*)\.([^.;]*)\.([0-9a-f]{1,16}))\s*(?:;|$)/i.exec(token);
  return m ? { text: m[1]!, source: m[2]!, origin: m[3]!, at: BigInt(`0x${m[4]}`) } : undefined;
}
