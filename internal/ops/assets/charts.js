// The figures of now, and of before: six tiles and six charts, each of one unit.
import {$, bytes, clock, count, long, make, percent, seconds, seen, set, sum, word} from './show.js';

const kept = 300; // seconds
let at = {}; // the place of a figure in a point, by its name
let minutes = [], day = [];
let marks = []; // [time in seconds, what, text]
let showsDay = false;

const charts = [
  {title: 'answers a second', unit: count, lines: [['from memory', '--c1', 'memory'], ['from disk', '--c2', 'disk'],
    ['from the database', '--c3', 'database'], ['stale', '--c4', 'stale']]},
  {title: 'how long it takes', unit: seconds, bands: [['answers', '--c1', 'p50', 'p99'], ['reads of the database', '--c3', 'read_p50', 'read_p99']]},
  {title: 'behind the database', unit: seconds, lines: [['behind', '--c3', 'lag', 'behind the database'], ['not visible yet', '--c5', 'invisible']]},
  {title: 'changes a second', unit: count, lines: [['changes', '--c1', 'changes']]},
  {title: 'reads of the database a second', unit: count, lines: [['reads', '--c1', 'reads', 'reads of the database'], ['failed', '--c4', 'failed']]},
  {title: 'connections to the database', unit: count, lines: [['in use', '--c2', 'in_use'], ['waiting', '--c4', 'waiting']]},
];
const all = (p) => p[at.memory] + p[at.disk] + p[at.database] + p[at.stale];
const share = (p) => all(p) ? p[at.memory] / all(p) : null;
const tiles = [
  {title: 'answers a second', of: all, show: count},
  {title: 'from memory', of: share, show: percent},
  {title: '99 of 100 within', of: (p) => p[at.p99] || null, show: seconds},
  {title: 'behind the database', of: (p) => p[at.lag], show: seconds},
  {title: 'database asked a second', of: (p) => p[at.reads], show: count},
  {title: 'memory'},
];
const first = (text) => text[0].toUpperCase() + text.slice(1);
const svg = (tag, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
};

// ---- tiles ----
for (const t of tiles) {
  const div = make('div', undefined, 'card'), dd = make('dd');
  t.value = make('b', '–');
  if (t.of) {
    t.line = svg('polyline', {points: ''});
    const picture = svg('svg', {viewBox: '0 0 59 20', preserveAspectRatio: 'none', 'aria-hidden': 'true'});
    picture.append(t.line);
    dd.append(t.value, picture);
  } else {
    t.bar = make('i');
    t.most = make('span', undefined, 'soft');
    const box = make('div', undefined, 'meter');
    box.append(t.bar);
    t.other = make('span', undefined, 'soft');
    dd.append(t.value, t.most, box, t.other);
  }
  div.append(word('dt', first(t.title), t.title), dd);
  $('tiles').append(div);
}
const showTiles = () => {
  const last = minutes.slice(-60);
  for (const t of tiles) {
    if (!t.of || !last.length) continue;
    const list = last.map(t.of), most = Math.max(...list) || 1, now = list[list.length - 1];
    set(t.value, now === null ? '–' : t.show(now));
    t.line.setAttribute('points', list.map((v, i) => v === null ? '' : (60 - list.length + i) + ',' + (19 - 18 * v / most).toFixed(1)).join(' '));
  }
};
export const showMemory = (list) => {
  const of = list.filter((t) => t.name !== 'disk'), used = sum(of, (t) => t.bytes), most = sum(of, (t) => t.max_bytes);
  set(tiles[5].value, bytes(used));
  set(tiles[5].most, 'of ' + bytes(most));
  tiles[5].bar.style.width = 100 * used / Math.max(1, most) + '%';
  const memory = of[0] || {}, r = memory.hit_ratio;
  set(tiles[5].other, !memory.evictions ? '' : (r ? 'twice: ' + percent(r.twice) + ' instead of ' + percent(r.now) + '. ' : '')
    + 'A copy lives ' + long(memory.eviction_age || 0));
  const part = (n) => percent((n || 0) / Math.max(1, used));
  tiles[5].value.title = 'room between copies ' + part(memory.waste_bytes) + ', freed and not used yet ' + part(memory.limbo_bytes)
    + (memory.sizes || []).map((s) => '\n' + (s.up_to ? 'copies up to ' + bytes(s.up_to) : 'larger copies') + ': ' + bytes(s.bytes) + ', ' + bytes(s.free) + ' free').join('');
};
// asked says how often the database was asked in the last minutes, and how much was answered.
export const asked = () => {
  const over = (of) => Math.round(sum(minutes.slice(1), (p) => of(p)) * (minutes.length < 2 ? 0
    : (minutes[minutes.length - 1][at.time] - minutes[0][at.time]) / (minutes.length - 1)));
  return [over((p) => p[at.reads]), over(all), minutes.length && minutes[minutes.length - 1][at.time] - minutes[0][at.time]];
};

// ---- charts ----
for (const c of charts) {
  c.series = c.lines ? c.lines.map(([label, name, figure, key]) => ({label, name, figures: [figure], key}))
    : c.bands.map(([label, name, ...figures]) => ({label, name, figures}));
  const figure = make('figure', undefined, 'card'), ul = make('ul', undefined, 'legend');
  c.box = make('div', undefined, 'chart');
  for (const s of c.series) {
    const li = make('li'), mark = make('i');
    mark.style.background = 'var(' + s.name + ')';
    s.value = make('b', '–');
    li.append(mark, word('span', s.label, s.key || s.label), ' ', s.value);
    ul.append(li);
  }
  figure.append(word('figcaption', first(c.title), c.title), ul, c.box);
  $('charts').append(figure);
  c.seen = seen(figure, () => refresh(c));
}
const span = () => {
  if (!showsDay) return minutes;
  const last = day.length ? day[day.length - 1][at.time] : 0;
  return [...day, ...minutes.filter((p) => p[at.time] > last)];
};
// columns are the data of a chart. No line leads over a time of which nothing is known.
const columns = (c) => {
  const points = span(), gap = showsDay ? 700 : 8, figures = c.series.flatMap((s) => s.figures);
  const list = [[], ...figures.map(() => [])];
  let before = Infinity;
  for (const p of points) {
    const t = p[at.time];
    if (t - before > gap) list.forEach((l, i) => l.push(i ? null : before + 1));
    list[0].push(before = t);
    figures.forEach((f, i) => list[i + 1].push(c.bands && !p[at[f]] ? null : p[at[f]]));
  }
  return list;
};
// legend says the figures at the cursor, and else the latest.
const legend = (c) => {
  const {data, cursor} = c.plot, last = minutes[minutes.length - 1];
  let n = 1;
  for (const s of c.series) {
    const list = s.figures.map((f) => {
      const d = data[n++], v = cursor.idx == null ? last && last[at[f]] : d[cursor.idx];
      return c.bands && !v ? null : v;
    });
    set(s.value, list[0] == null ? '–' : list.map(c.unit).join(' to '));
  }
};
const powers = (u, i, low, high) => {
  const list = [];
  for (let n = Math.ceil(Math.log10(low) - .01); n <= Math.log10(high) + .01; n++) list.push(10 ** n);
  return list;
};
const range = (c) => c.bands
  ? (u, low, high) => [10 ** Math.floor(Math.log10(low || 1e-4)), 10 ** Math.ceil(Math.log10(Math.max(high || 0, 10 * (low || 1e-4))))]
  : (u, low, high) => [0, Math.max(c.unit === seconds ? .01 : 1, high * 1.1)];
const drawMarks = (u) => {
  const ctx = u.ctx, {top, height} = u.bbox;
  ctx.save();
  ctx.strokeStyle = u.ink;
  ctx.setLineDash([4, 4]);
  for (const [t] of marks) {
    if (t < u.scales.x.min || t > u.scales.x.max) continue;
    const x = Math.round(u.valToPos(t, 'x', true)) + .5;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
  }
  ctx.restore();
};
const drawOne = (c) => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = {stroke: colour('--soft'), grid: {stroke: colour('--line'), width: 1}, ticks: {stroke: colour('--line'), width: 1}};
  if (c.plot) c.plot.destroy();
  let n = 0;
  c.plot = new uPlot({
    width: c.box.clientWidth, height: 170, cursor: {sync: {key: 'hotrow'}}, legend: {show: false},
    scales: {x: {range: (u, low, high) => high === undefined || high === null ? [0, 60] : [Math.min(low, high - 60), high]},
      y: {distr: c.bands ? 3 : 1, range: range(c)}},
    axes: [{...axis, space: 100, size: 28, values: (u, v) => v.map((x) => clock(x * 1e3, showsDay))},
      {...axis, space: 40, size: 58, ...c.bands && {splits: powers}, values: (u, v) => v.map((x) => x === null ? '' : c.unit(x))}],
    series: [{}, ...c.series.flatMap((s) => s.figures.map(() => ({stroke: colour(s.name), width: 1.6, points: {show: false}})))],
    bands: c.bands ? c.series.map((s) => ({series: [n += 2, n - 1], fill: colour(s.name) + '40'})) : [],
    hooks: {draw: [drawMarks], setCursor: [() => c.plot && legend(c)]},
  }, columns(c), c.box);
  c.plot.ink = axis.stroke;
  legend(c);
};
// draw draws all anew, one after the other: each takes some milliseconds.
export const draw = async () => {
  for (const c of charts) {
    drawOne(c);
    await new Promise((done) => setTimeout(done));
  }
};
const refresh = (c, lines = true) => {
  if (!c.plot) return;
  if (lines) c.plot.setData(columns(c));
  legend(c);
};
export const isDrawn = () => !!charts[0].plot;
// update shows what has come; its lines are most of the work.
export const update = (lines) => {
  showTiles();
  showMarks();
  for (const c of charts) {
    if (c.seen()) refresh(c, lines);
  }
};

// ---- what is kept ----
const trim = (list, length) => {
  const last = list.length ? list[list.length - 1][at.time] : 0;
  return list.filter((p) => p[at.time] > last - length);
};
// begin takes what the server has kept. What this page knows of before is of an earlier process.
export const begin = (v) => {
  v.names.forEach((name, i) => { at[name] = i; });
  const join = (old, list) => [...(list.length ? old.filter((p) => p[at.time] < list[0][at.time]) : old), ...list];
  minutes = trim(join(minutes, v.minutes), kept);
  day = trim(join(day, v.day), 86400);
};
export const keep = (f) => {
  if (f.point && !(minutes.length && f.point[at.time] <= minutes[minutes.length - 1][at.time])) minutes = trim([...minutes, f.point], kept);
  if (f.step) day = trim([...day, f.step], 86400);
};
// mark has a line across all charts for what has happened.
export const mark = (time, what, text) => {
  if (marks.some(([t, w]) => Math.abs(t - time) < 1.5 && w === what)) return;
  marks = [...marks, [time, what, text]].sort((a, b) => a[0] - b[0]).slice(-50);
};
let shown = '';
const showMarks = () => {
  const points = span(), from = points.length ? points[0][at.time] - 2 : Infinity;
  const recent = marks.filter(([t]) => t >= from).slice(-4);
  if (shown === (shown = recent.join('\n'))) return;
  const list = recent.flatMap(([t, what, text]) => {
    const e = word('span', clock(t * 1e3, showsDay) + ' ' + what, what);
    if (text) e.title += ' (' + text + ')';
    return ['┊ ', e, ' '];
  });
  $('marks').replaceChildren(...list);
};
$('span').addEventListener('change', (e) => { showsDay = e.target.value === 'day'; shown = ''; update(); });
