// A row as a card: its values, the rows that it leads to, and edits in place.
import {Exact, decode, read, request, parse, Refused} from './data.js';
import {address, provenance, refuse, requestAs, say, tableOf, urlOf} from './page.js';
import {named, switcher} from './list.js';
import {button, link, make, numeric, operand, segmentOf, show, textOf} from './show.js';

// related are links to the rows that this one names, and to those that name it.
const related = (table, row) => table.relations.flatMap((r) => {
  const to = tableOf(r.to), values = r.from.map((name) => row[name]);
  const operands = to ? values.map((v, i) => operand(to, r.on[i], v)) : [];
  if (!operands.length || operands.includes(undefined)) return [];
  const whole = r.one && r.on.length === to.key.length && to.key.every((k) => r.on.includes(k));
  const key = whole && segmentOf(to, to.key.map((k) => values[r.on.indexOf(k)]));
  const href = key ? address(r.to, key)
    : address(r.to, undefined, r.on.map((name, i) => [named(name), 'eq.' + operands[i]]));
  return make('li', {}, link(r.to, href), make('span', {class: 'soft', text: r.one ? 'by ' + r.from.join(', ') : 'whose ' + r.on.join(', ') + ' names this row'}));
});

// written is a value as JSON, as its column takes it.
const written = (text, column, old) => {
  const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
  if ((numeric(column.type) || typeof old === 'number' || old instanceof Exact) && number.test(text.trim())) return text.trim();
  if (column.type === 'boolean' && /^(true|false)$/.test(text)) return text;
  if (column.type === 'json' || column.type === 'array') return JSON.stringify(JSON.parse(text)) && text;
  return JSON.stringify(text);
};

// typed is what a field has, which knows one end of a line, with those that the text had.
const typed = (field, text) => field.value === text.replace(/\r\n?/g, '\n') ? text
  : /\r\n/.test(text) && !/(^|[^\r])\n/.test(text) ? field.value.replace(/\n/g, '\r\n') : field.value;

// editor takes the place of a value until it is saved.
const editor = (state, column, dd) => {
  const {row, etag} = state, old = row[column.name];
  const text = old === null || old === undefined ? '' : textOf(old);
  const field = column.type === 'boolean'
    ? make('select', {'aria-label': column.name}, ['true', 'false'].map((v) => make('option', {value: v, text: v, selected: v === text})))
    : make('textarea', {'aria-label': column.name, rows: String(Math.min(8, text.split('\n').length)), spellcheck: 'false'});
  if (column.type !== 'boolean') field.value = text;
  const nothing = make('input', {type: 'checkbox', checked: old === null});
  const said = make('div', {role: 'alert'});
  const close = () => { state.editing = undefined; state.draw(state.row); dd.querySelector('button')?.focus(); };
  const save = async (tag) => {
    let body;
    try { body = nothing.checked ? 'null' : written(typed(field, text), column, old); } catch (error) {
      return said.replaceChildren(refuse({message: 'This is no JSON: ' + error.message}));
    }
    const answer = await request(state.url, {method: 'PATCH', body: '{' + JSON.stringify(column.name) + ':' + body + '}',
      headers: {'Content-Type': 'application/json', 'If-Match': tag}}).catch((error) => ({error}));
    if (answer.ok) {
      state.etag = answer.headers.get('ETag') || state.etag;
      state.editing = undefined;
      state.draw(answer.text ? parse(answer.text) : {...state.row, [column.name]: parse(body)});
      say('saved');
      dd.querySelector('button')?.focus();
      return;
    }
    if (answer.status !== 412) return said.replaceChildren(refuse(answer.error || new Refused(answer)));
    try {
      const now = await read(state.url);
      said.replaceChildren(make('div', {class: 'problem conflict'}, make('p', {text: 'Somebody has changed this row meanwhile. It says now:'}),
        make('p', {class: 'theirs'}, show(now.body[column.name], true)),
        make('p', {class: 'row'}, button('Save mine over it', () => save(now.headers.get('ETag'))),
          button('Keep theirs', () => { state.etag = now.headers.get('ETag'); state.row = now.body; close(); }))));
    } catch (error) { said.replaceChildren(refuse(error)); }
  };
  const form = make('form', {class: 'edit', on: {submit: (event) => { event.preventDefault(); save(etag); },
    keydown: (event) => { if (event.key === 'Escape') close(); if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save(etag); }}},
  field, make('p', {class: 'row'}, make('button', {class: 'main', text: 'Save'}), button('Cancel', close),
    make('label', {class: 'check'}, nothing, 'null')), said);
  field.addEventListener('input', () => { nothing.checked = false; });
  state.editing = column.name;
  dd.replaceChildren(form);
  field.focus();
};

const drawer = (here, state, card, list) => {
  const {table} = here, places = new Map(), texts = new Map();
  return (row) => {
    if (row === null) {
      card.replaceChildren(make('p', {class: 'soft', text: 'This row is not there any more.'}));
      return places.clear();
    }
    state.row = row;
    if (!places.size) card.replaceChildren();
    const names = [...table.columns.map((c) => c.name).filter((n) => Object.hasOwn(row, n)),
      ...Object.keys(row).filter((n) => !table.columns.some((c) => c.name === n))];
    for (const name of names) {
      const column = table.columns.find((c) => c.name === name) || {name, type: ''};
      let dd = places.get(name);
      const text = textOf(row[name]) + (row[name] === null), other = texts.has(name) && texts.get(name) !== text;
      texts.set(name, text);
      if (!dd) {
        dd = make('dd', {});
        places.set(name, dd);
        card.append(make('dt', {}, make('bdi', {text: name, class: table.key.includes(name) ? 'key' : ''}), make('span', {class: 'soft', text: column.type})), dd);
      }
      if (state.editing === name) continue;
      const may = table.edit && state.etag && column.type && !['rows', 'row'].includes(column.type) && !table.key.includes(name);
      dd.replaceChildren(show(row[name], true), may ? button('edit', () => editor(state, column, dd), {class: 'quiet', 'aria-label': 'edit ' + name}) : '');
      dd.classList.remove('flash');
      if (other) { void dd.offsetWidth; dd.classList.add('flash'); }
    }
    list.replaceChildren(...related(table, row));
    list.parentElement.hidden = !list.children.length;
  };
};

export const showDocument = async (here) => {
  const {view, table, main} = here, url = urlOf(view), tools = make('div', {class: 'row'});
  const card = make('dl', {class: 'card values'}), list = make('ul', {class: 'related'}), line = make('p', {class: 'line', id: 'from'});
  const state = {url, row: {}, etag: null, editing: undefined};
  const title = view.key.split(',').map(decode).join(', ');
  main.replaceChildren(make('div', {class: 'head'}, make('h1', {}, link('Tables', '#/', {class: 'up'}), link(table.name, address(table.name), {class: 'up'}),
    make('bdi', {text: title})), tools), card, make('section', {hidden: true, class: 'card'}, make('h2', {text: 'Leads to'}), list), line, requestAs(url, table, view.key));
  const draw = drawer(here, state, card, list);
  state.draw = draw;
  const load = async () => {
    try {
      const answer = await read(url);
      if (!here.current()) return;
      state.etag = answer.headers.get('ETag');
      draw(answer.body);
      provenance(line, answer);
      return true;
    } catch (error) {
      if (here.current()) card.replaceWith(refuse(error, button('Ask again', here.reload)));
    }
  };
  if (!await load()) return;
  const told = (row, id) => {
    if (id && id.includes('~')) state.etag = '"' + id.slice(id.lastIndexOf('~') + 1) + '"';
    draw(row);
  };
  if (table.watch) tools.append(switcher(here, url, line, told, load));
};
