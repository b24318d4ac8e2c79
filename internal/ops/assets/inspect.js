// One row or list: what is kept of it, beside what the database has.
import {$, fill, long, make, seconds, seen, word} from './show.js';
import {ask} from './ask.js';

const term = (dl, dt, dd, key) => dl.append(word('dt', dt, key), make('dd', dd));

// pretty breaks JSON into lines, digit by digit as it came: a number that is parsed may lose some.
const pretty = (json) => {
  let out = '', depth = 0;
  const line = () => '\n' + '  '.repeat(depth);
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{},:]|[^\s"[\]{},:]+/gs)) {
    if (token === '}' || token === ']') depth = Math.max(0, depth - 1);
    if (token === '}' || token === ']') out += /[[{]$/.test(out) ? '' : line();
    else if (/[[{]$/.test(out)) out += line();
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
    if (token === ',') out += line();
  }
  return out.split('\n');
};
// shown shows JSON, and marks the lines that the other has not.
const shown = (title, json, other) => {
  const box = make('div'), pre = make('pre'), plain = (l) => l.replace(/,$/, '');
  const there = other === undefined ? null : new Set(pretty(other).map(plain));
  for (const l of pretty(json)) pre.append(make(there && !there.has(plain(l)) ? 'mark' : 'span', l), '\n');
  pre.tabIndex = 0;
  box.append(make('h3', title), pre);
  return box;
};
const showList = (v, dl) => {
  const l = v.list;
  term(dl, 'list', v.path);
  if (l.key) term(dl, 'key', l.key);
  term(dl, 'memory', l.state + ': ' + l.why);
  if (v.kept) term(dl, 'kept', l.rows + ' rows, ' + v.bytes + ' bytes, read at clock ' + l.clock);
  if (l.coarse) term(dl, 'depends', 'on any row of its table: ' + l.coarse);
  for (const c of l.classes || []) term(dl, 'depends', 'on ' + c);
  for (const w of l.words || []) term(dl, 'version counter', w.name + ': clock ' + w.stamp + ', ' + w.state);
  for (const d of l.documents || []) term(dl, 'document', d.path + (d.kept ? ': kept' : ': not kept'));
  if (l.guard) term(dl, 'index', l.guard);
};
const showRow = (v, dl) => {
  term(dl, 'row', v.path);
  term(dl, 'kept', v.kept ? v.where + (v.stale ? ', marked as stale' : '') : 'no: the next request loads it');
  if (v.where === 'memory') {
    if (!v.row) term(dl, 'absence', 'that there is no such row is kept');
    if (v.position) term(dl, 'position', v.position);
    term(dl, 'complete as of', seconds(v.lag) + ' ago');
    if (v.row) term(dl, 'size and tag', (v.bytes || 0) + ' bytes, ' + v.etag);
  }
  if (v.change) {
    const c = v.change;
    term(dl, 'last change', c.ago === undefined ? 'none in the last ' + long(c.known) + ', as far as the feed has come'
      : long(c.ago) + ' ago' + (c.position ? ', position ' + c.position : '') + (c.whole ? ': any row of the table may be meant' : ''));
  }
  const d = v.database;
  if (!d) return v.body ? [shown('In memory', v.body)] : [];
  term(dl, 'database', (d.row ? 'has the row' : 'has no such row') + ', read in ' + seconds(d.took));
  if (v.where === 'memory') term(dl, 'compared', d.same ? 'the same' : 'DIFFERENT');
  return [shown('In memory', v.body || '', d.body), shown('In the database', d.body || '', v.body)];
};

let hot = [];
const sees = seen(document.querySelector('.columns'));
export const showHottest = (h) => {
  if (!h) return;
  hot = [...h.read, ...h.changed].map((k) => k.path);
  if (!sees() && $('hottest').rows.length) return;
  for (const [id, list, none] of [['hottest', h.read, 'Nothing was read since somebody looks.'], ['changed', h.changed, 'None: keeping copies pays.']]) {
    if ($(id).matches(':hover, :focus-within')) continue; // somebody may be about to click
    fill($(id), list, none, 3, () => {
      const b = make('button', undefined, 'link');
      b.type = 'button';
      return b;
    }, (k) => [k.path, rate(k.reads), rate(k.changes)]);
  }
};
const rate = (n) => n >= 100 ? String(Math.round(n)) : n.toFixed(1);
for (const id of ['hottest', 'changed']) $(id).addEventListener('click', (e) => {
  if (e.target.tagName !== 'BUTTON') return;
  $('path').value = e.target.textContent;
  look('look');
});

// complete offers tables by a part of their name, and the rows that are read or changed most.
let wait;
const complete = async () => {
  const typed = $('path').value, [, table, key] = /^\/?([^/?]*)(\/|\?)?/.exec(typed) || [];
  let tables = [];
  if (!key) {
    const r = await ask('-/resources?' + new URLSearchParams({limit: 12, name: table}));
    if (r.ok) tables = (await r.json()).resources.map((t) => '/' + encodeURIComponent(t.name) + '/');
  }
  const paths = [...new Set([...hot.filter((p) => p.includes(typed)), ...tables])].slice(0, 20);
  $('paths').replaceChildren(...paths.map((p) => {
    const o = make('option');
    o.value = p;
    return o;
  }));
};
for (const type of ['input', 'focus']) $('path').addEventListener(type, () => {
  clearTimeout(wait);
  wait = setTimeout(() => complete().catch(() => {}), 120); // the stream says that there is no connection
});

const look = async (what) => {
  const path = $('path').value.trim(), found = $('found');
  const query = '?path=' + encodeURIComponent(path.startsWith('/') ? path : '/' + path);
  const close = make('button', 'Close', 'quiet');
  close.type = 'button';
  close.addEventListener('click', () => { found.hidden = true; $('path').focus(); });
  try {
    const r = what === 'forget' ? await ask('-/invalidate' + query, {method: 'POST'})
      : await ask('-/inspect' + query + (what === 'compare' ? '&compare' : ''));
    if (!r.ok) throw new Error((await r.text()).trim());
    if (what === 'forget') {
      found.replaceChildren(make('p', r.headers.get('Hotrow-Forgotten') === 'none' ? 'Nothing was kept of it.' : 'Forgotten: the next request loads it.'), close);
    } else {
      const v = await r.json(), dl = make('dl');
      found.replaceChildren(dl, ...(v.list ? showList(v, dl) || [] : showRow(v, dl)), close);
    }
  } catch (err) {
    found.replaceChildren(make('p', err.message, 'wrong'), close);
  }
  found.hidden = false;
};
$('inspect').addEventListener('submit', (e) => {
  e.preventDefault();
  look(e.submitter ? e.submitter.value : 'look');
});
