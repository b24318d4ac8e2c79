// How values become elements. A text of the database is never anything but text.
import {Exact, encode, stringify} from './data.js';

export const $ = (id) => document.getElementById(id);

// make builds an element: properties that it has are set, others are attributes.
export const make = (tag, props = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') for (const [type, act] of Object.entries(value)) e.addEventListener(type, act);
    else if (name === 'text') e.textContent = value;
    else if (name in e && typeof value !== 'string') e[name] = value;
    else e.setAttribute(name === 'class' ? 'class' : name, value === true ? '' : value);
  }
  e.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return e;
};
export const button = (text, act, props = {}) => make('button', {type: 'button', text, on: {click: act}, ...props});
export const link = (text, href, props = {}) => make('a', {text, href, ...props});

// numeric says of which types values stand on the right.
export const numeric = (type) => ['integer', 'float', 'decimal'].includes(type);

// textOf is a value as one copies it.
export const textOf = (v) => v === null || v === undefined ? '' : v instanceof Exact || typeof v !== 'object'
  ? String(v) : stringify(v);

const long = 160;

// show shows a value; whole: however long it is.
export const show = (v, whole) => {
  if (v === null || v === undefined) return make('i', {class: 'null', text: 'null'});
  if (Array.isArray(v) && v.length && v.every((x) => x && typeof x === 'object' && !(x instanceof Exact))) {
    return nested(v, whole);
  }
  if (typeof v === 'object' && !Array.isArray(v) && !(v instanceof Exact)) return nested([v], whole);
  const text = textOf(v);
  if (text.trim() === '' && !whole || text === '') return make('i', {class: 'null', text: text === '' ? 'empty' : 'blank'});
  if (Array.isArray(v) && !v.length) return make('i', {class: 'null', text: 'none'});
  const cut = !whole && text.length > long;
  const shown = cut ? [...text.slice(0, long)].slice(0, -1).join('') + '…' : text;
  // Marks that turn the direction of a line are shown as marks where there is no room for all.
  const plain = whole ? shown : shown.replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  if (typeof v === 'string' && /^https?:\/\/[^\s\p{C}]+$/iu.test(v) && URL.canParse(v)) {
    return make('bdi', {}, link(plain, v, {target: '_blank', rel: 'noopener noreferrer'}));
  }
  return make('bdi', {text: plain, class: typeof v});
};

// nested shows rows within a row as a table of their own.
const nested = (rows, whole) => {
  const most = whole ? 100 : 3;
  const names = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  const more = rows.length > most && make('p', {class: 'soft', text: 'and ' + (rows.length - most) + ' more'});
  return make('div', {class: 'nested'}, make('table', {},
    make('thead', {}, make('tr', {}, names.map((n) => make('th', {scope: 'col', text: n})))),
    make('tbody', {}, rows.slice(0, most).map((r) => make('tr', {}, names.map((n) =>
      make('td', {class: typeof r[n] === 'number' || r[n] instanceof Exact ? 'n' : ''}, show(r[n], whole))))))), more);
};

// operand is a value of a column as paths and filters have it; undefined: they cannot.
export const operand = (table, name, v) => {
  if (v === null || v === undefined) return undefined;
  if (table.columns.find((c) => c.name === name)?.type !== 'bytes') return textOf(v);
  try { return Array.from(atob(v), (c) => c.charCodeAt(0).toString(16).padStart(2, '0')).join(''); } catch { return undefined; }
};

// segmentOf is the key of a row as a path has it; undefined: no path can.
export const segmentOf = (table, values) => {
  const parts = values.map((v, i) => operand(table, table.key[i], v));
  if (!parts.length || parts.some((p) => p === undefined) || ['', '.', '..'].includes(parts.join(','))) return undefined;
  return parts.map(encode).join(',');
};
export const keyOf = (table, row) => segmentOf(table, table.key.map((name) => row[name]));

// copyable is a text with a button that copies it.
export const copyable = (text, said) => {
  const pre = make('pre', {tabindex: '0'}, make('code', {text}));
  const copy = button('Copy', async () => {
    try {
      await navigator.clipboard.writeText(text);
      $('said').textContent = said + ' is copied';
      copy.textContent = 'Copied';
    } catch { // a page that came by http from another machine may not
      getSelection().selectAllChildren(pre);
      copy.textContent = 'Selected';
    }
    setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
  }, {class: 'copy'});
  return make('div', {class: 'copyable'}, pre, copy);
};

// problem shows why something is not answered, and what mends it.
export const problem = (error, ...acts) => {
  const sql = /CREATE (UNIQUE )?INDEX[^\n]*/.exec(error.hint || '');
  return make('div', {class: 'problem', role: 'alert'}, make('p', {}, make('bdi', {text: error.message})),
    error.hint && make('p', {class: 'hint'}, make('bdi', {text: sql ? error.hint.slice(0, sql.index) : error.hint})),
    sql && copyable(sql[0], 'The statement'), make('p', {class: 'row'}, acts));
};
