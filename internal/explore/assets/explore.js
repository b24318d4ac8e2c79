// The page at /: what its address says behind # is the request that it shows.
import {decode, encode, hasToken, read, setToken} from './data.js';
import {address, askToken, refuse, site, tableOf, unwatch, viewOf} from './page.js';
import {$, button, link, make, problem} from './show.js';
import {showDocument} from './document.js';
import {showList} from './list.js';

let visit = 0; // of the address: what comes late is for another one

const counted = new Map();
const count = async (table) => {
  if (!counted.has(table.name)) {
    counted.set(table.name, read('/' + encode(table.name) + '?limit=0', {headers: {Prefer: 'count=estimated'}})
      .then((a) => /\/(\d+)$/.exec(a.headers.get('Content-Range') || '')?.[1], () => undefined));
  }
  return counted.get(table.name);
};
const rows = (n) => Number(n).toLocaleString('en') + (n === '1' ? ' row' : ' rows');

// overview shows all tables.
const overview = (main) => {
  if (!site.tables.length) {
    main.append(make('div', {class: 'card alone', id: 'nothing'},
      make('h1', {text: 'Nothing here is for everybody'}),
      make('p', {text: hasToken() ? 'No table may be read with this token.'
        : 'No table may be read without a token, or there is none.'}),
      make('p', {class: 'row'}, button('Type a token', () => askToken(), {class: 'main'}))));
    return;
  }
  const find = make('input', {type: 'search', id: 'find', placeholder: 'find a table or a column', 'aria-label': 'find a table or a column'});
  const grid = make('div', {class: 'grid'});
  const cards = site.tables.map((t) => {
    const n = make('span', {class: 'soft n'});
    const card = make('article', {class: 'card table-card'}, make('h2', {}, link(t.name, address(t.name)), n),
      make('ul', {class: 'columns-of'}, t.columns.slice(0, 12).map((c) => make('li', {},
        make('bdi', {text: c.name, class: t.key.includes(c.name) ? 'key' : ''}), make('span', {class: 'soft', text: c.type}))),
      t.columns.length > 12 && make('li', {class: 'soft', text: 'and ' + (t.columns.length - 12) + ' more'})));
    return {card, n, table: t, text: [t.name, ...t.columns.map((c) => c.name)].join('\n').toLowerCase()};
  });
  grid.append(...cards.map((c) => c.card));
  find.addEventListener('input', () => {
    for (const c of cards) c.card.hidden = !c.text.includes(find.value.toLowerCase());
  });
  main.append(make('div', {class: 'head'}, make('h1', {text: site.tables.length === 1 ? '1 table' : site.tables.length + ' tables'}), find), grid);
  if (!cards.some((c) => c.table.query)) return;
  // Those that can be seen are counted, a few at a time.
  const waiting = [];
  const work = async () => {
    for (let c; (c = waiting.shift());) {
      const n = await count(c.table);
      if (n !== undefined) c.n.textContent = rows(n);
    }
  };
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting) { seen.unobserve(e.target); waiting.push(cards.find((c) => c.card === e.target)); }
    work();
  });
  for (const c of cards) if (c.table.query) seen.observe(c.card);
};

const sidebar = (current) => {
  const side = $('side');
  side.hidden = !current;
  side.replaceChildren(make('ul', {}, site.tables.map((t) => make('li', {},
    link(t.name, address(t.name), {'aria-current': t.name === current && 'page'})))));
  side.querySelector('[aria-current]')?.scrollIntoView({block: 'nearest'});
};

const render = () => {
  const view = viewOf(location.hash), main = $('main'), mine = ++visit;
  unwatch();
  main.replaceChildren();
  document.title = (view.table ? view.table + (view.key ? ' ' + decode(view.key) : '') + ' · ' : '') + 'hotrow';
  const table = tableOf(view.table);
  sidebar(table && table.name);
  if (!view.table) return overview(main);
  if (!table) {
    main.append(refuse({message: 'There is no table of this name, or it may not be read' + (hasToken() ? ' with this token.' : ' without a token.'), status: 401},
      link('All tables', '#/')));
    return;
  }
  const here = {view, table, main, current: () => mine === visit, reload: render};
  return view.key === undefined ? showList(here) : showDocument(here);
};

const load = async () => {
  try {
    Object.assign(site, (await read('/-/explore/tables')).body);
  } catch (error) {
    $('main').replaceChildren(problem(error, button('Try again', load)));
    return;
  }
  counted.clear();
  $('tabs').replaceChildren(...(site.tabs || []).map((t) => link(t.name, t.url, {'aria-current': t.name === 'Rows' && 'page'})));
  await render();
};

addEventListener('hashchange', render);
$('token-open').addEventListener('click', () => askToken($('token-form').hidden));
$('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken($('token').value.trim());
  $('token').value = '';
  $('token-open').classList.toggle('on', hasToken());
  askToken(false);
  load();
});
$('token-drop').addEventListener('click', () => {
  setToken('');
  $('token').value = '';
  $('token-open').classList.remove('on');
  askToken(false);
  load();
});
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') askToken(false);
  if (event.target.closest('input, select, textarea')) return;
  if (event.key === '/' && $('find')) { event.preventDefault(); $('find').focus(); }
  if (event.key === 'w' && $('watch')) $('watch').click();
});
load();
