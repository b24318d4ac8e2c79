// A list as a table: its order, filters and page are in the address.
import {Exact, parseQuery, read, request} from './data.js';
import {csv} from './copy.js';
import {address, go, limit, provenance, refuse, requestAs, say, tableOf, unwatch, urlOf, watch} from './page.js';
import {button, keyOf, link, make, numeric, operand, segmentOf, show, textOf} from './show.js';

const reserved = ['order', 'limit', 'offset', 'select', 'after', 'format', 'and', 'or', 'not.and', 'not.or'];
const signs = {eq: '=', neq: '≠', gt: '>', gte: '≥', lt: '<', lte: '≤', in: 'one of', is: 'is', like: 'like', ilike: 'like, in any case'};
const operators = [['eq', '='], ['neq', '≠'], ['gt', '>'], ['gte', '≥'], ['lt', '<'], ['lte', '≤'], ['in', 'one of a,b,c'],
  ['contains', 'contains'], ['is.null', 'is null'], ['not.is.null', 'is not null']];
let watching = false; // a page that is watched leads to one that is

// named writes the name of a column as queries do.
export const named = (name) => /^[A-Za-z_]\w*$/.test(name) && !reserved.includes(name) ? name
  : '"' + name.replace(/["\\]/g, '\\$&') + '"';
const unnamed = (name) => name[0] === '"' ? name.slice(1, -1).replace(/\\(.)/gs, '$1') : name;
const get = (params, name) => params.find(([n]) => n === name)?.[1];
// changed are params with others in place of those called name: a page of before is none then.
const changed = (params, name, value) => [...params.filter(([n]) => n !== name && n !== 'after' && n !== 'offset'),
  ...(value === undefined ? [] : [[name, value]])];

const phrase = ([name, value]) => {
  if (reserved.includes(name)) return name + ' ' + value;
  const [, not, op, rest] = /^(not\.)?([a-z]+)\.(.*)$/s.exec(value) || [];
  return unnamed(name) + ' ' + (op && signs[op] ? (not ? 'not ' : '') + signs[op] + ' ' + rest : value);
};

const filterForm = (here) => {
  const {table, view} = here;
  const column = make('select', {'aria-label': 'column'}, table.columns.filter((c) => c.type !== 'rows' && c.type !== 'row')
    .map((c) => make('option', {value: c.name, text: c.name})));
  const op = make('select', {'aria-label': 'comparison'}, operators.map(([value, text]) => make('option', {value, text})));
  const value = make('input', {type: 'text', id: 'find', 'aria-label': 'value', placeholder: 'value', spellcheck: 'false', autocomplete: 'off'});
  const fit = () => {
    const c = table.columns.find((x) => x.name === column.value);
    for (const o of op.options) o.hidden = o.disabled = !/null/.test(o.value) && !c.sort || o.value === 'contains' && c.type !== 'text';
    if (op.selectedOptions[0]?.disabled) op.value = c.sort ? 'eq' : 'is.null';
    value.hidden = /null/.test(op.value);
  };
  column.addEventListener('change', fit);
  op.addEventListener('change', fit);
  fit();
  return make('form', {class: 'row filter', on: {submit: (event) => {
    event.preventDefault();
    const c = table.columns.find((x) => x.name === column.value);
    // Bytes are typed as they are shown.
    const v = (op.value === 'in' ? value.value.split(',') : [value.value]).map((x) => c?.type === 'bytes' ? operand(table, c.name, x) ?? x : x).join();
    const text = /null/.test(op.value) ? op.value : op.value === 'in' ? 'in.(' + v + ')'
      : op.value === 'contains' ? 'ilike.*' + v.replace(/[*%_\\]/g, '\\$&') + '*' : op.value + '.' + v;
    go(table.name, undefined, [...changed(view.params), [named(column.value), text]]);
  }}}, column, op, value, make('button', {text: 'Filter'}));
};

// embedOf is what select has of a relation. One of several to a table has a name of its own.
const embedOf = (r) => r.hint ? named(r.to + ' by ' + r.hint) + ':' + named(r.to) + '!' + named(r.hint) + '(*)' : named(r.to) + '(*)';
const embeds = (here) => {
  const {table, view} = here, select = get(view.params, 'select');
  const all = table.relations.filter((r) => r.embed && tableOf(r.to)).map((r) => ({r, text: embedOf(r)}));
  const on = all.filter((e) => select !== undefined && (',' + select + ',').includes(',' + e.text + ','));
  const ours = select === undefined || select === ['*', ...on.map((e) => e.text)].join(',');
  if (!all.length || !ours) return undefined;
  return make('fieldset', {class: 'row embeds'}, make('legend', {text: 'with'}), all.map((e) => make('label', {class: 'check'},
    make('input', {type: 'checkbox', checked: on.includes(e), on: {change: (event) => {
      const next = all.filter((x) => x === e ? event.target.checked : on.includes(x)).map((x) => x.text);
      go(table.name, undefined, changed(view.params, 'select', next.length ? ['*', ...next].join(',') : undefined));
    }}}), e.r.hint ? e.r.to + ' by ' + e.r.hint : e.r.to)));
};

const chips = (here) => {
  const {view, table} = here;
  return view.params.filter(([n, v]) => !['after', 'offset', 'limit', 'format'].includes(n)
    && !(n === 'order' && /^("(?:[^"\\]|\\.)*"|[^,.]+)\.(asc|desc)$/s.test(v)) && !(n === 'select' && v.startsWith('*,')))
    .map((p) => make('span', {class: 'chip'}, make('bdi', {text: phrase(p)}),
      button('×', () => go(table.name, undefined, changed(view.params.filter((x) => x !== p))), {'aria-label': 'without ' + phrase(p)})));
};

// head is a column's name, by which the list is put in order: up, down, as it was.
const head = (here, name) => {
  const {table, view} = here, c = table.columns.find((x) => x.name === name);
  const order = get(view.params, 'order'), up = named(name) + '.asc', down = named(name) + '.desc';
  const state = order === up ? 'ascending' : order === down ? 'descending' : undefined;
  const next = order === up ? down : order === down ? undefined : up;
  return make('th', {scope: 'col', 'aria-sort': state, class: c && numeric(c.type) ? 'n' : ''}, c && c.sort && table.query
    ? button(name, () => go(table.name, undefined, changed(view.params, 'order', next)), {class: 'sort', title: c.type})
    : make('span', {text: name, title: c && c.type}));
};

// leads is the row that a cell names, by a foreign key.
const leads = (table, name, v) => {
  const r = table.relations.find((x) => x.one && x.from.length === 1 && x.from[0] === name && tableOf(x.to));
  if (!r || v === null || v === undefined || typeof v === 'object' && !(v instanceof Exact)) return undefined;
  const to = tableOf(r.to);
  const key = to.key.length === 1 && to.key[0] === r.on[0] && segmentOf(to, [v]);
  if (key === false) {
    const text = operand(to, r.on[0], v);
    return text === undefined ? text : address(r.to, undefined, [[named(r.on[0]), 'eq.' + text]]);
  }
  return key && address(r.to, key);
};

const cell = (here, row, name, key) => {
  const {table} = here, v = row[name], shown = show(v);
  const to = table.key.includes(name) && key !== undefined ? address(table.name, key) : leads(table, name, v);
  const c = table.columns.find((x) => x.name === name);
  return make('td', {class: c && numeric(c.type) || typeof v === 'number' ? 'n' : ''},
    to ? make('a', {href: to}, shown.querySelector?.('a') ? textOf(v) : shown) : shown);
};

// drawer draws rows, and lets flash what is other than before.
const drawer = (here, box) => {
  let before;
  return (rows) => {
    const {table} = here;
    const names = [...table.columns.map((c) => c.name).filter((n) => !rows.length || rows.some((r) => Object.hasOwn(r, n))),
      ...new Set(rows.flatMap((r) => Object.keys(r)).filter((n) => !table.columns.some((c) => c.name === n)))];
    const now = new Map();
    const focus = box.contains(document.activeElement) && document.activeElement.getAttribute('href');
    const body = rows.map((row) => {
      const key = keyOf(table, row), old = key !== undefined && before && before.get(key);
      const texts = new Map(names.map((n) => [n, textOf(row[n])]));
      if (key !== undefined) now.set(key, texts);
      return make('tr', {}, names.map((n) => {
        const td = cell(here, row, n, key);
        if (before && (!old || old.get(n) !== texts.get(n))) td.classList.add('flash');
        return td;
      }));
    });
    before = now;
    box.replaceChildren(make('table', {class: 'rows'}, make('thead', {}, make('tr', {}, names.map((n) => head(here, n)))),
      make('tbody', {}, body.length ? body : make('tr', {}, make('td', {colspan: String(names.length || 1), class: 'soft', text: 'No rows.'})))));
    if (focus) [...box.querySelectorAll('a')].find((a) => a.getAttribute('href') === focus)?.focus();
  };
};

const nextOf = (answer) => {
  const [, query] = /<[^>?]*\?([^>]*)>; rel="next"/.exec(answer.headers.get('Link') || '') || [];
  return query === undefined ? undefined : parseQuery(query);
};

// download asks for all rows, page by page.
const download = async (here, at) => {
  const {table, view} = here, most = 100000;
  let params = [...changed(view.params, 'limit', String(Math.min(table.max || 100, 1000)))], rows = [], names = [];
  try {
    while (params && rows.length < most && here.current()) {
      const answer = await read(urlOf({table: table.name, params}));
      rows = rows.concat(answer.body);
      names = [...new Set([...names, ...answer.body.flatMap((r) => Object.keys(r))])];
      at.textContent = rows.length.toLocaleString('en') + ' rows';
      params = nextOf(answer);
    }
    const text = [names.map(csv), ...rows.map((r) => names.map((n) => csv(r[n])))].map((l) => l.join(',')).join('\r\n') + '\r\n';
    const url = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
    make('a', {href: url, download: table.name.replace(/[^\w.-]/g, '_') + '.csv'}).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    say(rows.length + ' rows are saved' + (params ? ': there are more' : ''));
  } catch (error) { say(error.message); }
  at.textContent = 'CSV';
};

// switcher is the switch that follows url, for lists and documents.
export const switcher = (here, url, line, draw, again) => {
  const box = make('input', {type: 'checkbox', id: 'watch', role: 'switch'});
  let states = 0;
  const lamp = (name, ...texts) => line.replaceChildren(...texts.map((text, i) => make('span', {text, class: i ? '' : 'lamp ' + name})));
  const turn = () => {
    watching = box.checked;
    if (!box.checked) { unwatch(); return again(); }
    lamp('', 'connecting');
    watch(url, async (event, body, id) => {
      if (!here.current()) return;
      if (event === 'refused') {
        watching = box.checked = false;
        unwatch();
        line.replaceChildren();
        here.main.querySelector('.problem')?.remove();
        line.before(refuse(body));
      } else if (event === 'lost') lamp('lost', 'the connection is lost: trying again');
      else if (event === 'stale') lamp('lost', 'what changes comes late now: this may be old');
      else {
        if (event === 'changed') try { ({body} = await read(url)); } catch (error) { return lamp('lost', error.message); }
        states++;
        draw(event === 'absent' ? null : body, id);
        lamp('live', 'live', states === 1 ? 'nothing has changed since you look'
          : states - 1 + (states === 2 ? ' change' : ' changes') + ', the last at ' + new Date().toLocaleTimeString([], {hour12: false}));
      }
    });
  };
  box.addEventListener('change', turn);
  if (watching) { box.checked = true; turn(); }
  return make('label', {class: 'switch', title: 'w'}, box, make('span', {text: 'Watch'}));
};

export const showList = async (here) => {
  const {view, table, main} = here;
  const own = get(view.params, 'limit') === undefined ? [['limit', String(Math.min(limit, table.max || limit))]] : [];
  const url = urlOf(view, own);
  const n = make('span', {class: 'soft', id: 'count'}), tools = make('div', {class: 'row'});
  const box = make('div', {class: 'scroll card', tabindex: '0', role: 'region', 'aria-label': 'rows of ' + table.name});
  const pager = make('nav', {class: 'row pager', 'aria-label': 'more rows'}), line = make('p', {class: 'line', id: 'from'});
  main.replaceChildren(make('div', {class: 'head'}, make('h1', {}, link('Tables', '#/', {class: 'up'}), make('bdi', {text: table.name})), n, tools),
    make('div', {class: 'tools'}, table.query && filterForm(here), embeds(here), chips(here)),
    box, pager, line, requestAs(url, table));
  box.append(make('p', {class: 'soft pad', text: 'asking …'}));
  const draw = drawer(here, box);
  const load = async () => {
    let answer;
    try {
      answer = await read(url);
    } catch (error) {
      if (!here.current()) return;
      const last = view.params.findLast(([name]) => name !== 'limit');
      box.replaceWith(refuse(error, button('Ask again', here.reload),
        last && link('Without ' + phrase(last), address(table.name, undefined, changed(view.params.filter((p) => p !== last))))));
      return;
    }
    if (!here.current()) return;
    draw(answer.body);
    provenance(line, answer);
    const next = nextOf(answer);
    pager.replaceChildren(...[get(view.params, 'after') !== undefined && link('First rows', address(table.name, undefined, changed(view.params))),
      next && link('Next ' + limit + ' rows', address(table.name, undefined, next.filter(([name]) => name !== 'limit' || !own.length)), {rel: 'next', id: 'next'})].filter(Boolean));
    return true;
  };
  if (!await load()) return;
  const save = button('CSV', () => download(here, save));
  tools.append(table.watch ? switcher(here, url, line, draw, load) : '', save);
  if (!table.query) return;
  const counts = changed(view.params, 'select').filter(([name]) => name !== 'order' && name !== 'limit');
  const answer = await request(urlOf({table: table.name, params: [...counts, ['limit', '0']]}), {headers: {Prefer: 'count=estimated'}});
  const [, total] = /\/(\d+)$/.exec(answer.headers.get('Content-Range') || '') || [];
  if (total && here.current()) n.textContent = Number(total).toLocaleString('en') + (total === '1' ? ' row' : ' rows');
};
