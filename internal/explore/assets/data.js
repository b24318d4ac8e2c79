// What the page knows of HTTP: requests with the token, exact numbers, events, and where an
// answer is from.

export const base = location.pathname.replace(/\/+$/, '');
let token = '';
export const setToken = (text) => { token = text; };
export const hasToken = () => token !== '';

// encode writes a text for a path or a query: what is left is plain in URLs and in shells.
const spare = (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase();
export const encode = (text) => encodeURIComponent(String(text).replace(/\p{Surrogate}/gu, "\ufffd")).replace(/[!'()*]/g, spare);
export const encodeQuery = (text) => encode(text)
  .replace(/%(2C|3A|28|29|2A)/g, (c) => decodeURIComponent(c));
export const decode = (text) => {
  try { return decodeURIComponent(text); } catch { return text; }
};
export const parseQuery = (text) => text.replace(/\+/g, ' ').split('&').filter(Boolean).map((pair) => {
  const at = pair.indexOf('=');
  return at < 0 ? [decode(pair), ''] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))];
});
export const formatQuery = (params) => params
  .map(([name, value]) => encodeQuery(name) + '=' + encodeQuery(value)).join('&');

// Exact is a number that a number of JavaScript cannot hold: it keeps its digits.
export class Exact {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
  toJSON() { return mark + this.text; }
}
const mark = '\u0000' + Math.random() + ' ';
const marked = new RegExp('"' + JSON.stringify(mark).slice(1, -1).replace(/[\\.]/g, '\\$&') + '([^"]*)"', 'g');
export const stringify = (value) => JSON.stringify(value).replace(marked, '$1');
const parts = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
export const parse = (text) => JSON.parse(text.replace(parts, (part) =>
  part[0] === '"' || String(Number(part)) === part ? part : JSON.stringify({[mark]: part})),
(_, value) => value !== null && typeof value === 'object' && Object.hasOwn(value, mark)
  ? new Exact(value[mark]) : value);

// request asks, and gives the answer, its text and the time that it took.
export const request = async (url, options = {}) => {
  const headers = {...options.headers};
  if (token) headers.Authorization = 'Bearer ' + token;
  const start = performance.now();
  const answer = await fetch(base + url, {cache: 'no-store', credentials: 'omit', ...options, headers});
  const text = await answer.text();
  return {status: answer.status, ok: answer.ok, headers: answer.headers, text,
    took: performance.now() - start};
};

export class Refused extends Error {
  constructor(answer) {
    let problem = {};
    try { problem = JSON.parse(answer.text); } catch { /* it is no problem document */ }
    super(problem.detail || 'the answer is ' + answer.status);
    this.status = answer.status;
    this.hint = problem.hint || '';
    this.details = problem.details || '';
  }
}

export const read = async (url, options) => {
  const answer = await request(url, options);
  if (!answer.ok) throw new Refused(answer);
  return {...answer, body: parse(answer.text)};
};

// follow tells of each state of url until signal ends it; it comes back when it was cut.
export const follow = async (url, signal, tell) => {
  let last = '', wait = 2000;
  while (!signal.aborted) {
    try {
      const headers = {Accept: 'text/event-stream'};
      if (token) headers.Authorization = 'Bearer ' + token;
      if (last) headers['Last-Event-ID'] = last;
      const answer = await fetch(base + url, {headers, signal, cache: 'no-store', credentials: 'omit'});
      if (!answer.ok) {
        const refused = new Refused({status: answer.status, text: await answer.text()});
        if (answer.status < 500 || answer.status === 501) return tell('refused', refused);
        throw refused;
      }
      let rest = '';
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const {value, done} = await reader.read();
        if (done) break;
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop();
        for (const block of blocks) {
          const event = {event: 'state', data: []};
          for (const line of block.split('\n')) {
            const [, name, text] = /^([^:]*):? ?(.*)$/.exec(line) || [];
            if (name === 'data') event.data.push(text);
            else if (name === 'retry') wait = Number(text) || wait;
            else if (name === 'id') event.id = last = text;
            else if (name) event[name] = text;
          }
          if (event.data.length) tell(event.event, parse(event.data.join('\n')), event.id);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      tell('lost', error);
    }
    await new Promise((go) => setTimeout(go, wait));
  }
};

const time = (s) => s >= 60 ? Math.round(s / 60) + ' min' : s >= 1 ? s.toFixed(1) + ' s' : Math.round(s * 1e3) + ' ms';

// from says in plain words where an answer is from.
export const from = (answer) => {
  const status = answer.headers.get('Cache-Status') || '';
  const lag = /lag=([\d.]+)/.exec(answer.headers.get('Hotrow-Position') || '');
  const words = [/hit; detail=mem/.test(status) ? 'from memory' : /detail=disk/.test(status) ? 'from the disk'
    : /fwd=stale/.test(status) ? 'from memory, and may be old'
      : /fwd=partial/.test(status) ? 'partly from memory, asked the database for the rest' : 'asked the database'];
  if (/hit;/.test(status) && lag) words.push('at most ' + time(Number(lag[1])) + ' behind the database');
  if (answer.headers.get('Age')) words.push(time(Number(answer.headers.get('Age'))) + ' old');
  words.push('answered in ' + (answer.took < 10 ? answer.took.toFixed(1) : Math.round(answer.took)) + ' ms');
  return words;
};
