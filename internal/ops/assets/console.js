// The console: reads /-/live and shows it. Nothing is kept but five minutes of figures.
'use strict';
(() => {
  const kept = 300;
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (name) e.className = name;
    return e;
  };
  const count = (n) => n >= 1e6 ? (n / 1e6).toFixed(1) + ' M' : n >= 1e4 ? Math.round(n / 1e3) + ' k'
    : n >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(n < 10 ? 2 : 1);
  const seconds = (s) => s >= 120 ? Math.round(s / 60) + ' min' : s >= 1 ? s.toFixed(1) + ' s'
    : s >= 1e-3 ? (s * 1e3).toFixed(s < .01 ? 1 : 0) + ' ms' : Math.round(s * 1e6) + ' µs';
  const long = (s) => s >= 172800 ? Math.floor(s / 86400) + ' days' : s >= 7200 ? Math.floor(s / 3600) + ' h' : seconds(s);
  const bytes = (n) => n >= 1 << 30 ? (n / 2 ** 30).toFixed(1) + ' GiB' : n >= 1 << 20
    ? (n / 2 ** 20).toFixed(1) + ' MiB' : Math.round(n / 1024) + ' KiB';
  const clock = (time) => new Date(time).toLocaleTimeString([], {hour12: false});
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // ---- charts ----
  const sum = (list, of) => list.reduce((n, x) => n + of(x), 0);
  const most = (list, of) => list.reduce((n, x) => Math.max(n, of(x)), 0);
  const charts = [
    {id: 'c-answers', unit: count, lines: [
      ['memory', '--c1', (f) => f.answers.memory], ['disk', '--c2', (f) => f.answers.disk],
      ['miss', '--c3', (f) => f.answers.miss], ['bypass', '--c5', (f) => f.answers.bypass],
      ['stale', '--c4', (f) => f.answers.stale]]},
    {id: 'c-latency', unit: (v) => count(v), lines: [
      ['requests p50', '--c1', (f) => f.requests.p50 * 1e3], ['requests p99', '--c2', (f) => f.requests.p99 * 1e3],
      ['loads p99', '--c3', (f) => most(f.sources, (s) => s.loads.p99) * 1e3]]},
    {id: 'c-feed', unit: count, lines: [
      ['changes/s', '--c1', (f) => sum(f.sources, (s) => s.changes)],
      ['lag ms', '--c3', (f) => most(f.sources, (s) => s.idle ? 0 : s.lag_seconds) * 1e3],
      ['oldest unsettled ms', '--c4', (f) => most(f.sources, (s) => s.unsettled_oldest_seconds) * 1e3]]},
    {id: 'c-database', unit: count, lines: [
      ['loads/s', '--c1', (f) => sum(f.sources, (s) => s.loads.rate)],
      ['connections in use', '--c2', (f) => sum(f.sources, (s) => s.connections_in_use)],
      ['waiting', '--c4', (f) => sum(f.sources, (s) => s.waiting)]]},
  ];
  let times = [];
  for (const c of charts) c.data = c.lines.map(() => []);

  // The histogram is of the last ten frames; its bars stand at the bounds of either kind.
  const latency = [];
  const histogram = {plot: null, bounds: []};
  const spread = () => {
    const bounds = [...new Set(latency.flatMap((l) => [...l.hits.bounds, ...l.loads.bounds]))].sort((a, b) => a - b);
    const of = (kind) => [...bounds, Infinity].map((b) => sum(latency, (l) => {
      const i = b === Infinity ? l[kind].bounds.length : l[kind].bounds.indexOf(b);
      return i < 0 ? 0 : l[kind].rates[i] || 0;
    }) / Math.max(1, latency.length));
    const hits = of('hits'), loads = of('loads');
    let first = hits.findIndex((n, i) => n + loads[i] > 0), last = hits.length - 1;
    while (last > first && hits[last] + loads[last] === 0) last--;
    first = Math.max(0, Math.min(first, last - 7));
    histogram.bounds = [...bounds, Infinity].slice(first, last + 1);
    return [histogram.bounds.map((b, i) => i), hits.slice(first, last + 1), loads.slice(first, last + 1)];
  };
  const bound = (i) => histogram.bounds[i] === undefined ? ''
    : histogram.bounds[i] === Infinity ? 'more' : seconds(histogram.bounds[i]);
  const drawHistogram = (axis) => {
    const box = $('c-histogram'), bars = (align) => uPlot.paths.bars({size: [.4, 40], align});
    if (histogram.plot) histogram.plot.destroy();
    histogram.plot = new uPlot({
      width: box.clientWidth, height: 190, legend: {live: true},
      scales: {x: {time: false, range: (u, low, high) => [-.6, Math.max(1, high) + .6]},
        y: {range: (u, low, high) => [0, Math.max(1, high * 1.1)]}},
      axes: [{...axis, space: 56, incrs: [1, 2, 4, 8], values: (u, v) => v.map(bound)},
        {...axis, size: 54, values: (u, v) => v.map((x) => count(x))}],
      series: [{label: 'up to', value: (u, i) => i == null ? '' : bound(i)},
        ...[['from memory', '--c1', -1], ['loads', '--c3', 1]].map(([label, name, align]) => ({label,
          stroke: colour(name), fill: colour(name), paths: bars(align), points: {show: false},
          value: (u, v) => v == null ? '' : count(v)}))],
    }, spread(), box);
  };

  // A minute at least, up to the last frame.
  const span = () => {
    const last = times[times.length - 1];
    return last === undefined ? [0, 60] : [Math.min(times[0], last - 60), last];
  };
  // While nobody points at a chart, its legend says the latest figures.
  const latest = (plot) => plot.cursor.idx == null && plot.data[0].length
    && plot.setLegend({idx: plot.data[0].length - 1}, false);
  const draw = () => {
    const axis = {stroke: colour('--soft'), grid: {stroke: colour('--line'), width: 1},
      ticks: {stroke: colour('--line'), width: 1}};
    drawHistogram(axis);
    for (const c of charts) {
      const box = $(c.id);
      if (c.plot) c.plot.destroy();
      c.plot = new uPlot({
        width: box.clientWidth, height: 190, cursor: {sync: {key: 'hotrow'}}, legend: {live: true},
        scales: {x: {range: span}, y: {range: (u, low, high) => [0, Math.max(1, high * 1.1)]}},
        axes: [{...axis, space: 80, values: (u, v) => v.map((x) => clock(x * 1e3))}, {...axis, size: 54, values: (u, v) => v.map((x) => count(x))}],
        series: [{value: (u, t) => t == null ? '' : clock(t * 1e3)},
          ...c.lines.map(([label, name]) => ({label, stroke: colour(name), width: 1.6,
            points: {show: false}, value: (u, v) => v == null ? '' : c.unit(v)}))],
      }, [times, ...c.data], box);
    }
  };
  const keep = (f) => {
    if (!f.interval) return;
    const t = Date.parse(f.time) / 1e3;
    if (times.length && t <= times[times.length - 1]) return;
    const gap = times.length && t - times[times.length - 1] > 5;
    const add = (at, of) => {
      times.push(at);
      for (const c of charts) c.lines.forEach((l, i) => c.data[i].push(of(l)));
    };
    if (gap) add(t - 1, () => null); // nobody looked: no line between
    add(t, (l) => l[2](f));
    while (times.length > kept || times.length && times[0] < t - kept) {
      times.shift();
      for (const c of charts) c.data.forEach((d) => d.shift());
    }
  };
  const measure = (f) => {
    if (!f.latency) return;
    latency.push(f.latency);
    if (latency.length > 10) latency.shift();
    if (histogram.plot) histogram.plot.setData(spread());
  };
  const update = () => charts.forEach((c) => {
    if (!c.plot) return;
    c.plot.setData([times, ...c.data]);
    latest(c.plot);
  });

  // ---- the state of now ----
  const fact = (p, label, value) => {
    const s = make('span', label + ' ');
    s.append(make('code', value));
    p.append(s);
  };
  const showSources = (list, time) => {
    const all = list.map((s) => {
      const li = make('li', undefined, 'verdict ' + s.state + (s.up || s.state === 'none' ? '' : ' down'));
      li.append(make('b', s.source + ': ' + s.verdict));
      li.title = 'as of ' + time;
      fact(li, 'feed', s.mode || 'none');
      if (s.state !== 'none') fact(li, 'last fence', seconds(s.lag_seconds) + ' ago' + (s.idle ? ', idle' : ''));
      fact(li, 'epoch', s.epoch + (s.epoch_why ? ', for ' + long(s.epoch_age_seconds || 0) + ': ' + s.epoch_why : ''));
      fact(li, 'position', s.position);
      fact(li, 'unsettled', s.unsettled ? s.unsettled + ', the oldest for ' + seconds(s.unsettled_oldest_seconds) : 'none');
      fact(li, 'gaps', String(s.gaps));
      fact(li, 'connections', s.connections_in_use + ' of ' + (s.connections_in_use + s.connections_idle)
        + (s.waiting ? ', ' + s.waiting + ' wait' : ''));
      if (s.audited) fact(li, 'audited', count(s.audited) + (s.audit_stale ? ', WRONG: ' + s.audit_stale : ', all right'));
      return li;
    });
    $('sources').replaceChildren(...all);
  };
  const showAlarms = (list) => $('alarms').replaceChildren(...(list || []).map((text) => {
    const li = make('li', undefined, 'verdict down');
    li.append(make('b', text));
    return li;
  }));
  const showNow = (f) => {
    const a = f.answers, all = a.memory + a.disk + a.miss + a.bypass + a.stale;
    const list = [['answers/s', count(all)],
      ['from memory', all ? (100 * a.memory / all).toFixed(1) + ' %' : '–'],
      ['requests p50 / p99', f.requests.rate ? seconds(f.requests.p50) + ' / ' + seconds(f.requests.p99) : '–'],
      ['loads/s', count(sum(f.sources, (s) => s.loads.rate))],
      ['failed/s', count(a.failed)], ['watchers', String(f.watchers)]];
    for (const t of f.tiers) list.push([t.name, bytes(t.bytes) + ' of ' + bytes(t.max_bytes)], [t.name + ' documents', count(t.entries)]);
    list.push(['running for', seconds(f.uptime)]);
    $('now').replaceChildren(...list.map(([dt, dd]) => {
      const d = make('div');
      d.append(make('dt', dt), make('dd', dd));
      return d;
    }));
  };
  const held = (shares) => shares.length ? bytes(sum(shares, (s) => s.bytes)) + ': ' + shares.map((s) => count(s.entries)
    + ' ' + s.format).join(', ') : '–';
  const showResources = (list) => {
    if (!list.length) {
      const td = make('td', 'None has this name.', 'soft'), tr = make('tr');
      td.colSpan = 11;
      tr.append(td);
      return $('resources').replaceChildren(tr);
    }
    $('resources').replaceChildren(...list.map((r) => {
      const tr = make('tr');
      for (const text of [r.name, count(r.rate), (100 * r.hit_ratio).toFixed(1) + ' %', count(r.answers.miss + r.answers.bypass),
        count(r.answers.bypass), count(r.answers.stale), count(r.changes), (100 * r.cacheability).toFixed(0) + ' %',
        String(r.watchers), held(r.memory || []), count(r.total)]) tr.append(make('td', text));
      return tr;
    }));
  };
  const showKeys = (id, list, none) => {
    $(id).replaceChildren(...(list.length ? list.map((k) => {
      const tr = make('tr'), td = make('td'), b = make('button', k.path, 'link');
      b.type = 'button';
      b.title = 'look at it';
      b.dataset.path = k.path;
      td.append(b);
      tr.append(td, make('td', count(k.reads)), make('td', count(k.changes)));
      return tr;
    }) : [(() => {
      const tr = make('tr'), td = make('td', none, 'soft');
      td.colSpan = 3;
      tr.append(td);
      return tr;
    })()]));
  };
  // While somebody points at a table or is in it, its rows stay where they are.
  const showHottest = (h) => {
    const busy = (id) => $(id).matches(':hover, :focus-within');
    if (!h) return;
    if (!busy('hottest')) showKeys('hottest', h.read, 'Nothing was read since somebody looks.');
    if (!busy('changed')) showKeys('changed', h.changed, 'None: keeping copies pays.');
  };
  for (const id of ['hottest', 'changed']) $(id).addEventListener('click', (e) => {
    if (!e.target.dataset.path) return;
    $('path').value = e.target.dataset.path;
    document.querySelector('#inspect button[value=look]').click();
    $('found').scrollIntoView({block: 'nearest'});
  });
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
    }
    while (ol.children.length > 256) ol.lastChild.remove();
  };
  // The doctor is asked again when a source begins or ceases to be fresh, as soon as it
  // looks again: every ten seconds at most.
  let states = '', asking;
  const watchStates = (list) => {
    const now = list.map((s) => s.source + ' ' + s.state).join();
    if (states && now !== states && !asking) asking = setTimeout(() => { asking = 0; examine(); }, 10500);
    states = now;
  };
  const show = (f) => {
    $('version').textContent = f.version;
    showSources(f.sources, f.time);
    showAlarms(f.alarms);
    watchStates(f.sources);
    showNow(f);
    pages.resources.load();
    showHottest(f.hottest);
    showEvents(f.events, false);
    keep(f);
    measure(f);
    update();
  };
  $('all-records').addEventListener('change', (e) => $('events').classList.toggle('all', e.target.checked));

  // ---- the stream ----
  const token = () => sessionStorage.getItem('hotrow-token');
  const ask = (url, options = {}) => fetch(url, {...options, cache: 'no-store',
    headers: token() ? {Authorization: 'Bearer ' + token()} : {}});
  const lamp = (text, name) => {
    const p = $('stream');
    if (p.textContent !== text) p.textContent = text;
    p.className = 'lamp ' + name;
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
    if (!charts[0].plot) draw();
    examine();
    let text = '';
    for (const reader = r.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
      const timer = setTimeout(() => reader.cancel('no frame for 5 s'), 5000);
      const {value, done} = await reader.read();
      clearTimeout(timer);
      if (done) throw new Error('the stream ended');
      text += value;
      for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
        const lines = text.slice(0, end).split('\n');
        const data = lines.find((l) => l.startsWith('data: '));
        if (!data) continue;
        const v = JSON.parse(data.slice(6));
        if (lines.includes('event: history')) { v.forEach(keep); update(); continue; }
        if (lines.includes('event: events')) { showEvents(v, true); continue; }
        show(v);
        lamp('live', 'live');
      }
    }
  };
  const run = () => read().catch((e) => {
    lamp('not connected since ' + clock(Date.now()) + ': ' + e.message, 'lost');
    setTimeout(run, 1000);
  });
  $('signin').addEventListener('submit', (e) => {
    e.preventDefault();
    sessionStorage.setItem('hotrow-token', $('token').value);
    $('token').value = '';
    run();
  });

  // ---- long lists: the server finds what has the name, and gives a page of it ----
  const paged = (id, limit, display, failed) => {
    const form = $('page-' + id), [earlier, later] = form.querySelectorAll('button');
    const input = form.querySelector('input'), status = form.querySelector('span');
    let from = 0, busy = false, again = false, wait;
    const load = async () => {
      if (busy) { again = true; return; }
      busy = true;
      try {
        const r = await ask('-/' + id + '?' + new URLSearchParams({limit, from, name: input.value.trim()}));
        if (!r.ok) throw new Error((await r.text()).trim());
        const v = await r.json();
        const shown = display(v), text = v.found ? (v.from + 1) + ' to ' + (v.from + shown) + ' of ' + v.found : 'none';
        if (!again) from = v.from; // else somebody has gone elsewhere meanwhile
        earlier.disabled = v.from === 0;
        later.disabled = v.from + shown >= v.found;
        form.hidden = v.all <= limit;
        const said = text + (v.found < v.all ? ', of ' + v.all + ' in all' : '');
        if (status.textContent !== said) status.textContent = said;
      } catch (err) {
        failed(err.message);
      }
      busy = false;
      if (again) { again = false; load(); }
    };
    const go = (to) => { from = Math.max(0, to); load(); };
    earlier.addEventListener('click', () => go(from - limit));
    later.addEventListener('click', () => go(from + limit));
    input.addEventListener('input', () => { clearTimeout(wait); wait = setTimeout(() => go(0), 150); });
    form.addEventListener('submit', (e) => { e.preventDefault(); go(0); });
    return {load};
  };

  // ---- the doctor ----
  const showFindings = (v) => {
    const all = v.findings.map((f) => {
      const li = make('li', undefined, f.level);
      li.append(make('b', f.level), ' ' + f.source + ': ' + f.text);
      if (f.why) li.append(make('p', f.why, 'soft'));
      const sql = [...(f.sql || []).map((s) => s + ';'), ...(f.by_hand || []).map((s) => '-- by hand, it concerns the whole server: ' + s + ';')];
      if (f.statements) {
        const more = make('details'), pre = make('pre', sql.join('\n')), rest = f.statements - sql.length;
        pre.tabIndex = 0;
        more.append(make('summary', f.statements === 1 ? '1 statement' : f.statements + ' statements'));
        if (sql.length) more.append(pre);
        if (rest) more.append(make('p', rest + ' more: hotrow doctor --sql prints them', 'soft'));
        li.append(more);
      }
      return li;
    });
    $('doctor').replaceChildren(...(all.length ? all : [make('li', 'There is nothing to say.', 'soft')]));
    $('asof').textContent = 'as of ' + clock(v.at) + ': ' + Object.entries(v.levels).filter(([, n]) => n).map(([k, n]) => n + ' ' + k).join(', ');
    return v.findings.length;
  };
  const pages = {
    resources: paged('resources', 25, (v) => {
      if (v.all) showResources(v.resources);
      return v.resources.length;
    }, () => {}), // the stream says that there is no connection
    doctor: paged('doctor', 10, showFindings, (text) => {
      $('asof').textContent = '';
      $('doctor').replaceChildren(make('li', text, 'error'));
    }),
  };
  const examine = () => pages.doctor.load();
  $('again').addEventListener('click', examine);
  setInterval(() => $('state').hidden || document.hidden || examine(), 60000);

  // ---- one document ----
  const term = (dl, dt, dd) => dl.append(make('dt', dt), make('dd', dd));
  const showList = (v, dl) => {
    const l = v.list;
    term(dl, 'list', v.path);
    if (l.key) term(dl, 'key', l.key);
    term(dl, 'memory', l.state + ': ' + l.why);
    if (v.kept) term(dl, 'kept', l.rows + ' rows, ' + v.bytes + ' bytes, read at clock ' + l.clock);
    if (l.coarse) term(dl, 'depends', 'on any row of its table: ' + l.coarse);
    for (const c of l.classes || []) term(dl, 'depends', 'on ' + c);
    for (const w of l.words || []) term(dl, 'word', w.name + ': clock ' + w.stamp + ', ' + w.state);
    for (const d of l.documents || []) term(dl, 'document', d.path + (d.kept ? ': kept' : ': not kept'));
    if (l.guard) term(dl, 'index', l.guard);
    $('found').replaceChildren(dl);
  };
  const showFound = (v) => {
    const dl = make('dl'), all = [dl];
    if (v.list) return showList(v, dl);
    term(dl, 'document', v.path);
    term(dl, 'kept', v.kept ? v.where + (v.stale ? ', flagged as stale' : '') : 'no: the next request loads it');
    if (v.where === 'memory') {
      term(dl, 'row', v.row ? 'yes' : 'that there is none is kept');
      if (v.position) term(dl, 'includes', v.position);
      term(dl, 'complete as of', seconds(v.lag) + ' ago');
      if (v.row) term(dl, 'size, tag', v.bytes + ' bytes, ' + v.etag);
    }
    if (v.change) {
      const c = v.change;
      term(dl, 'last change', c.ago === undefined ? 'none in the last ' + long(c.known) + ', as far as the feed has come'
        : long(c.ago) + ' ago' + (c.position ? ', position ' + c.position : '') + (c.whole ? ': any row of the resource may be meant' : ''));
    }
    if (v.database) {
      term(dl, 'database', (v.database.row ? 'has the row' : 'has no such row') + ', read in ' + seconds(v.database.took));
      if (v.where === 'memory') term(dl, 'compared', v.database.same ? 'the same' : 'DIFFERENT: ' + (v.database.etag || 'no row'));
    }
    if (v.body) all.push(make('pre', v.body));
    $('found').replaceChildren(...all);
  };
  $('inspect').addEventListener('submit', async (e) => {
    e.preventDefault();
    const what = e.submitter ? e.submitter.value : 'look';
    const path = $('path').value.trim();
    const query = '?path=' + encodeURIComponent(path.startsWith('/') ? path : '/' + path);
    try {
      const r = what === 'forget' ? await ask('-/invalidate' + query, {method: 'POST'})
        : await ask('-/inspect' + query + (what === 'compare' ? '&compare' : ''));
      if (!r.ok) throw new Error((await r.text()).trim());
      if (what === 'forget') {
        $('found').replaceChildren(make('p', r.headers.get('Hotrow-Forgotten') === 'none' ? 'Nothing was kept of it.' : 'Forgotten: the next request loads it.'));
      } else {
        showFound(await r.json());
      }
    } catch (err) {
      $('found').replaceChildren(make('p', err.message, 'bad'));
    }
  });

  let resize;
  addEventListener('resize', () => { clearTimeout(resize); resize = setTimeout(() => charts[0].plot && draw(), 150); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts[0].plot && draw());
  run();
})();
