/** An event of a stream of server-sent events (WHATWG HTML 9.2). */
export interface StreamEvent {
  name: string;
  data: string;
  id: string | undefined;
}

/** Makes events of the texts of a stream, which may end anywhere. */
export class EventParser {
  /** The last time, in milliseconds, after which the server wants its clients back. */
  retry: number | undefined;
  #rest = "";
  #name = "";
  #data: string[] = [];
  #id: string | undefined;

  /** Returns the events that end within a text. */
  push(text: string): StreamEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop()!;
    const events: StreamEvent[] = [];
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length > 0) {
          events.push({ name: this.#name, data: this.#data.join("\n"), id: this.#id });
        }
        [this.#name, this.#data, this.#id] = ["", [], undefined];
        continue;
      }
      const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
      if (field === "event") this.#name = value;
      else if (field === "data") this.#data.push(value);
      else if (field === "id") this.#id = value;
      else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    }
    return events;
  }
}
