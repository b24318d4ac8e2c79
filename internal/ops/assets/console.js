// The console: reads -/live and shows it.
import {ask, paged, setToken, token} from './ask.js';
import * as charts from './charts.js';
import {showHottest} from './inspect.js';
import {loadSQL} from './sql.js';
import {$, bytes, clock, copyable, count, exact, explain, fill, long, make, percent, seconds, seen, set, sum, word} from './show.js';

// ---- the state of now ----
const shownSources = new Map();
const factsOf = (s) => [['change feed', s.mode || 'none'],
  ['fence', s.state === 'none' ? 'none' : seconds(s.lag_seconds) + ' ago' + (s.idle ? ', nobody reads' : '')],
  ['epoch', s.epoch + (s.epoch_why ? ', for ' + long(s.epoch_age_seconds || 0) + ': ' + s.epoch_why : '')],
  ['position', s.position || 'none'],
  ['unsettled', s.unsettled ? s.unsettled + ', the oldest for ' + seconds(s.unsettled_oldest_seconds) : 'none'],
  ['gaps', String(s.gaps)],
  ['connections', s.connections_in_use + ' of ' + (s.connections_in_use + s.connections_idle)
    + (s.waiting ? ', ' + s.waiting + ' wait' : '')],
  ['audit', s.audited ? count(s.audited) + (s.audit_stale ? ', WRONG: ' + s.audit_stale : ', all right') : 'none']];
const sourceView = (s) => {
  const v = {li: make('li'), b: make('b'), p: make('p'), facts: []}, more = make('details'), dl = make('dl');
  for (const [name] of factsOf(s)) {
    const dd = make('dd');
    v.facts.push(dd);
    dl.append(word('dt', name), dd);
  }
  more.append(make('summary', 'More'), dl);
  v.li.append(v.b, v.p, more);
  return v;
};
const showSources = (f) => {
  const names = f.sources.map((s) => s.source);
  if ([...shownSources.keys()].join('\n') !== names.join('\n')) {
    shownSources.clear();
    f.sources.forEach((s) => shownSources.set(s.source, sourceView(s)));
    $('sources').replaceChildren(...[...shownSources.values()].map((v) => v.li));
  }
  for (const s of f.sources) {
    const v = shownSources.get(s.source);
    v.li.className = 'verdict ' + s.state + (s.up || s.state === 'none' ? '' : ' down');
    v.li.dataset.at = f.time;
    set(v.b, (names.length > 1 ? s.source + ': ' : '') + s.verdict);
    set(v.p, s.cause);
    factsOf(s).forEach(([, text], i) => set(v.facts[i], text));
  }
};
// tell puts the state into the tab's title and icon.
const tell = (list, lost) => {
  const bad = list.find((s) => s.state !== 'fresh' && s.state !== 'none');
  const text = (lost ? 'No connection' : bad ? bad.verdict.split(/[:,]/)[0] : list.length ? list[0].verdict.split(':')[0] : 'No database') + ' · hotrow';
  if (document.title !== text) document.title = text;
  const icon = '-/console/' + (lost || bad && !bad.up ? 'lost' : bad ? 'behind' : 'icon') + '.svg';
  if ($('icon').getAttribute('href') !== icon) $('icon').setAttribute('href', icon);
};
const showAlarms = (list = []) => {
  if ([...$('alarms').children].map((li) => li.textContent).join('\n') === list.join('\n')) return;
  $('alarms').replaceChildren(...list.map((text) => {
    const li = make('li', undefined, 'verdict down');
    li.append(make('b', text));
    return li;
  }));
};
const showSum = () => {
  const [reads, answers, over] = charts.asked();
  set($('sum'), 'In the last ' + (over > 118 ? Math.round(over / 60) + ' minutes' : Math.round(over) + ' seconds') + ': database asked ' + exact(reads) + ' times, answered ' + exact(answers) + '.');
};

// ---- the tables ----
const sees = seen(document.querySelector('.scroll'));
let sort = '-rate';
const columns = [['name', 'name'], ['answers/s', 'rate', 'answers a second'], ['from memory', 'memory'], ['database/s', 'reads', 'reads of the database'],
  ['stale/s', 'stale', 'stale'], ['changes/s', 'changes', 'changes'], ['kept', 'kept', 'kept'], ['watchers', 'watchers'],
  ['in memory', 'bytes', 'memory'], ['answers', 'total']];
for (const [text, key, of] of columns) {
  const th = make('th'), b = word('button', text, of || text, 'sort');
  th.scope = 'col';
  th.dataset.key = key;
  b.type = 'button';
  b.addEventListener('click', () => {
    sort = sort === '-' + key ? key : key === 'name' && sort !== 'name' ? 'name' : '-' + key;
    showSort();
    pages.resources.go(0);
  });
  th.append(b);
  $('columns').append(th);
}
const showSort = () => {
  for (const th of $('columns').children) {
    if (th.dataset.key === sort.replace('-', '')) th.setAttribute('aria-sort', sort[0] === '-' ? 'descending' : 'ascending');
    else th.removeAttribute('aria-sort');
  }
};
const showResources = (list) => fill($('resources'), list, 'None has this name.', columns.length, () => make('bdi'),
  (r) => [r.name, count(r.rate), percent(r.hit_ratio), count(r.answers.miss + r.answers.bypass), count(r.answers.stale),
    count(r.changes), (100 * r.cacheability).toFixed(0) + ' %', String(r.watchers),
    r.memory ? bytes(sum(r.memory, (s) => s.bytes)) + ': ' + r.memory.map((s) => count(s.entries) + ' ' + (s.kind === 'rows' ? '' : s.kind + ' ') + s.format).join(', ') : '–', count(r.total)]);

// ---- what happened ----
const marked = {epoch: 'copies forgotten', reload: 'configuration read'};
let told = 0;
const showEvents = (list, anew) => {
  const ol = $('events');
  if (anew) {
    told = 0;
    ol.replaceChildren();
  }
  for (const e of list || []) {
    if (e.number <= told) continue;
    told = e.number;
    const li = make('li', undefined, e.level + (e.kind || e.level !== 'INFO' ? '' : ' plain')), t = make('time', clock(e.time)), p = make('p');
    t.dateTime = e.time;
    if (e.kind) p.append(make('b', e.kind), ' ');
    p.append((e.level === 'INFO' ? '' : e.level + ' ') + e.message + ' ', make('small',
      Object.entries(e.fields || {}).map(([k, v]) => k + '=' + v).join('  ')));
    li.append(t, p);
    ol.prepend(li);
    if (marked[e.kind] && (e.fields || {}).epoch !== '1') charts.mark(Date.parse(e.time) / 1e3, marked[e.kind], e.message);
  }
  while (ol.children.length > 256) ol.lastChild.remove();
};
$('all-records').addEventListener('change', (e) => $('events').classList.toggle('all', e.target.checked));

// ---- the doctor ----
let found = '';
const showFindings = (v) => {
  $('doctor').replaceChildren(...v.findings.map((f) => {
    const li = make('li', undefined, f.level);
    li.append(make('b', f.level), ' ' + f.source + ': ' + f.text);
    if (f.why) li.append(make('p', f.why, 'soft'));
    const sql = [...(f.sql || []).map((s) => s + ';'), ...(f.by_hand || []).map((s) => '-- by hand, it concerns the whole server: ' + s + ';')];
    if (f.statements) {
      const more = make('details'), rest = f.statements - sql.length;
      more.append(make('summary', f.statements === 1 ? '1 statement' : f.statements + ' statements'));
      if (sql.length) more.append(copyable(sql.join('\n')));
      if (rest) more.append(make('p', rest + ' more: hotrow doctor --sql prints them', 'soft'));
      li.append(more);
    }
    return li;
  }));
  const l = v.levels, worst = l.error || l.warning;
  set($('asof'), (worst ? [l.error && l.error + ' to mend', l.warning && l.warning + ' to look at'].filter(Boolean).join(', ')
    : 'All is well: nothing to mend') + ', as of ' + clock(v.at));
  // It opens by itself when something is wrong that was not, and folds when all is well.
  if (found !== (found = l.error + ' ' + l.warning)) $('findings').open = worst > 0;
  return v.findings.length;
};
const pages = {
  resources: paged('resources', 25, (v) => {
    if (v.all) showResources(v.resources);
    return v.resources.length;
  }, () => {}, () => ({sort})), // the stream says that there is no connection
  doctor: paged('doctor', 10, showFindings, (text) => {
    set($('asof'), text);
    found = '';
    $('findings').open = true;
    $('doctor').replaceChildren(make('li', text, 'error'));
  }),
};
const examine = () => pages.doctor.load();
$('again').addEventListener('click', examine);
setInterval(() => $('state').hidden || document.hidden || examine(), 60000);
// The doctor is asked again when a source begins or ceases to be fresh, as soon as it
// looks again: every ten seconds at most.
let states = '', asking;
const watchStates = (list) => {
  const now = list.map((s) => s.source + ' ' + s.state).join();
  if (states && now !== states && !asking) asking = setTimeout(() => { asking = 0; examine(); }, 10500);
  states = now;
};

// ---- the stream ----
let last = [], frames = 0; // lines and tables take turns: each is some milliseconds of work
const show = (f) => {
  set($('version'), f.version);
  charts.keep(f);
  charts.mark(Date.parse(f.time) / 1e3 - f.uptime, 'started');
  showEvents(f.events, false);
  tell(last = f.sources);
  showSources(f);
  showAlarms(f.alarms);
  watchStates(f.sources);
  if (document.hidden) return;
  showSum();
  charts.showMemory(f.tiers);
  const turn = frames++ % 2;
  charts.update(!turn);
  if (turn || !$('hottest').rows.length) showHottest(f.hottest);
  if (!turn) loadSQL();
  if (turn && sees() || !document.querySelector('#resources bdi')) pages.resources.load();
};
const lamp = (text, name) => {
  set($('stream'), text);
  $('stream').className = 'lamp ' + name;
};
const signin = (why) => {
  $('signin').hidden = false;
  $('state').hidden = true;
  $('refused').textContent = token() ? why : '';
  lamp('a token is needed', 'lost');
  $('token').focus();
};
const read = async () => {
  const r = await ask('-/live');
  if (r.status === 401 || r.status === 403) return signin((await r.text()).trim());
  if (!r.ok) throw new Error((await r.text()).trim());
  $('signin').hidden = true;
  $('state').hidden = false;
  examine();
  loadSQL(true);
  let text = '';
  for (const reader = r.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
    const timer = setTimeout(() => reader.cancel('no frame for 5 s'), 5000);
    const {value, done} = await reader.read().finally(() => clearTimeout(timer));
    if (done) throw new Error('the stream ended');
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const lines = text.slice(0, end).split('\n');
      const data = lines.find((l) => l.startsWith('data: '));
      if (!data) continue;
      const v = JSON.parse(data.slice(6));
      if (lines.includes('event: history')) {
        charts.begin(v);
        charts.isDrawn() ? charts.update() : charts.draw();
      } else if (lines.includes('event: events')) {
        showEvents(v, true);
      } else {
        show(v);
        lamp('live', 'live');
      }
    }
  }
};
const run = () => read().catch((e) => {
  lamp('not connected since ' + clock(Date.now()) + ': ' + e.message, 'lost');
  tell(last, true);
  setTimeout(run, 1000);
});
$('signin').addEventListener('submit', (e) => {
  e.preventDefault();
  setToken($('token').value.trim());
  $('token').value = '';
  run();
});

let resize;
addEventListener('resize', () => { clearTimeout(resize); resize = setTimeout(() => charts.isDrawn() && charts.draw(), 150); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.isDrawn() && charts.draw());
showSort();
explain();
run();
