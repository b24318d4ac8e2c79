// What the views have in common: addresses, the one stream, requests to copy, the token.
import {base, decode, encode, follow, formatQuery, from, hasToken, parseQuery} from './data.js';
import {curl, redis, script} from './copy.js';
import {$, button, copyable, make, problem} from './show.js';

export const limit = 50; // rows of a page
export const site = {tables: []}; // what the page was told
let stream; // the one that is open

export const tableOf = (name) => site.tables.find((t) => t.name === name);

// view is what the address names: {table, key, params}. A key is as a path has it.
export const viewOf = (hash) => {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const [name, key] = path.split('/');
  return {table: decode(name), key, params: parseQuery(query)};
};
export const address = (table, key, params = []) => '#/' + encode(table)
  + (key === undefined ? '' : '/' + key) + (params.length ? '?' + formatQuery(params) : '');
export const go = (table, key, params) => { location.hash = address(table, key, params); };

// urlOf is the request of a view, below the path of the page.
export const urlOf = (view, more = []) => '/' + encode(view.table) + (view.key === undefined ? '' : '/' + view.key)
  + (view.params.length + more.length ? '?' + formatQuery([...view.params, ...more]) : '');

export const say = (text) => { $('said').textContent = text; };

// provenance is the quiet line that tells where an answer is from.
export const provenance = (line, answer, more) => {
  line.replaceChildren(...[...from(answer), ...(more || [])].map((text) => make('span', {text})));
};

// requestAs shows a request as one types it.
export const requestAs = (url, table, key) => {
  const at = location.origin + base + url, token = hasToken();
  const kinds = [['curl', curl(at, token)], ['JavaScript', script(at, token)]];
  if (site.redis && table.redis && key !== undefined) {
    // A key of one column is as the database has it; of several, as row.JoinKey writes it.
    const name = table.key.length === 1 ? decode(key)
      : key.split(',').map((p) => decode(p).replace(/%/g, '%25').replace(/,/g, '%2C')).join(',');
    kinds.push(['redis-cli', redis(site.redis, table.redis + name, token)]);
  }
  return make('details', {class: 'request'}, make('summary', {text: 'This request, to copy'}),
    kinds.map(([name, text]) => make('div', {class: 'kind', 'data-kind': name},
      make('h2', {text: name}), copyable(text, name))));
};

// watch opens the one stream of this page; it is shut while nobody looks.
export const watch = (url, tell) => {
  unwatch();
  const own = {url, tell};
  stream = own;
  open(own);
};
const open = (own) => {
  own.control = new AbortController();
  follow(own.url, own.control.signal, (...event) => stream === own && own.tell(...event));
};
export const unwatch = () => {
  if (stream) stream.control.abort();
  stream = undefined;
};
document.addEventListener('visibilitychange', () => {
  if (!stream) return;
  stream.control.abort();
  if (!document.hidden) open(stream);
});

export const askToken = (show = true) => {
  $('token-form').hidden = !show;
  $('token-open').setAttribute('aria-expanded', String(show));
  if (show) $('token').focus();
};
export const refuse = (error, ...acts) => problem(error, error.status === 401
  && button('Type a token', () => askToken(), {class: 'main'}), ...acts);
