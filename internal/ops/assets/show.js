// How figures are written, and elements made. A text of a database is never anything but text.
import {words} from './words.js';

export const $ = (id) => document.getElementById(id);
export const make = (tag, text, name) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
};

// set sets the text of an element that nothing else sets. There are hundreds of them a second:
// nothing is laid out again if it has the text already, and no node is made.
export const set = (e, text) => {
  if (e.saying === text) return;
  e.saying = text;
  if (e.firstChild) e.firstChild.data = text;
  else e.textContent = text;
};

// seen returns whether somebody can see an element, as of now; then is called when one begins to.
export const seen = (e, then = () => {}) => {
  let is = true;
  new IntersectionObserver((list) => { if ((is = list[list.length - 1].isIntersecting)) then(); }).observe(e);
  return () => is;
};

// word makes an element whose text the glossary explains.
export const word = (tag, text, key = text, name) => explained(make(tag, text, name), key);
export const explained = (e, key) => {
  e.dataset.word = key;
  e.title = words[key] || '';
  return e;
};

export const count = (n) => n >= 1e6 ? (n / 1e6).toFixed(1) + ' M' : n >= 1e4 ? Math.round(n / 1e3) + ' k'
  : n >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(n < 10 ? 2 : 1);
export const seconds = (s) => s >= 120 ? Math.round(s / 60) + ' min' : s >= 1 ? s.toFixed(1) + ' s'
  : s >= 1e-3 ? (s * 1e3).toFixed(s < .01 ? 1 : 0) + ' ms' : Math.round(s * 1e6) + ' µs';
export const long = (s) => s >= 172800 ? Math.floor(s / 86400) + ' days' : s >= 7200 ? Math.floor(s / 3600) + ' h' : seconds(s);
export const bytes = (n) => {
  const [unit, size] = n >= 1 << 30 ? [' GiB', 2 ** 30] : n >= 1 << 20 ? [' MiB', 2 ** 20] : [' KiB', 1024];
  return (n / size).toFixed(n < 10 * size && size > 1024 ? 1 : 0) + unit;
};
export const percent = (n) => (100 * n).toFixed(n > .999 && n < 1 ? 2 : 1) + ' %';
// Making a formatter takes longer than drawing a chart, and using one as long as all else.
const clocks = [undefined, '2-digit'].map((second) => new Intl.DateTimeFormat([], {hour12: false, hour: '2-digit', minute: '2-digit', second}));
const told = [new Map(), new Map()];
export const clock = (time, short) => {
  const n = short ? 0 : 1, at = Math.floor(new Date(time) / 1e3);
  if (told[n].size > 1000) told[n].clear();
  if (!told[n].has(at)) told[n].set(at, clocks[n].format(at * 1e3));
  return told[n].get(at);
};
const whole = new Intl.NumberFormat();
export const exact = (n) => whole.format(n);
export const sum = (list, of) => list.reduce((n, x) => n + of(x), 0);

// fill shows a list as rows of a table, in the elements that are there. first makes what is in
// the first cell; cells are the texts of a row, and what the first one is for.
export const fill = (body, list, none, columns, first, cells) => {
  if (!list.length || !body.rows.length || body.rows[0].cells.length !== columns) body.replaceChildren();
  if (!list.length) {
    const td = make('td', none, 'soft');
    td.colSpan = columns;
    body.append(make('tr'));
    return body.rows[0].append(td);
  }
  while (body.rows.length > list.length) body.lastChild.remove();
  while (body.rows.length < list.length) {
    const tr = make('tr');
    tr.append(...Array.from({length: columns}, () => make('td')));
    tr.cells[0].append(first());
    body.append(tr);
  }
  list.forEach((x, i) => cells(x).forEach((text, n) => {
    const td = body.rows[i].cells[n];
    set(n ? td : td.firstChild, text);
  }));
};

// copyable is SQL, with a button that copies it.
export const copyable = (text) => {
  const pre = make('pre', text), copy = make('button', 'Copy'), box = make('div', undefined, 'copyable');
  pre.tabIndex = 0;
  copy.type = 'button';
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = 'Copied';
    } catch { // a page that came by http from another machine may not
      getSelection().selectAllChildren(pre);
      copy.textContent = 'Selected';
    }
    setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
  });
  box.append(pre, copy);
  return box;
};

// Who points at a word has its title; who taps it, this.
export const explain = () => {
  document.querySelectorAll('[data-word]').forEach((e) => explained(e, e.dataset.word));
  for (const [key, text] of Object.entries(words)) $('words').append(make('dt', key), make('dd', text));
  document.addEventListener('click', (e) => {
    const of = e.target.closest('[data-word]'), tip = $('tip');
    if (!of || of.closest('button')) return;
    tip.textContent = of.dataset.word + ': ' + of.title;
    tip.showPopover();
    const at = of.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(8, Math.min(at.bottom + 6, innerHeight - tip.offsetHeight - 8)) + 'px';
  });
};
