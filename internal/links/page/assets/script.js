// What pages gain from a script: copying, keys, a list that follows what is
// typed, the live tail and the state of the server. Nothing here is needed to
// make, find, change or delete a link. Text from elsewhere is only ever set as
// textContent.
'use strict';
document.documentElement.classList.add('js'); // what needs a script is shown

const $ = (query, root = document) => root.querySelector(query);
const $$ = (query, root = document) => [...root.querySelectorAll(query)];
const group = new Intl.NumberFormat('en-US');

// say tells people, and screen readers, what has just been done.
let sayTimer;
function say(text) {
  $('#said').textContent = text;
  clearTimeout(sayTimer);
  sayTimer = setTimeout(() => { $('#said').textContent = ''; }, 2500);
}

// Copying. Without a secure context there is no clipboard but the old way.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.setAttribute('readonly', '');
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  say('Copied ' + text);
}
document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-copy]');
  if (button) copy(button.dataset.copy);
});

// Times that say how long ago they were.
function ago(then) {
  const s = Math.max(0, (Date.now() - then) / 1000);
  if (s < 1) return 'now';
  if (s < 60) return Math.floor(s) + ' s ago';
  if (s < 3600) return Math.floor(s / 60) + ' min ago';
  if (s < 86400) return Math.floor(s / 3600) + ' h ago';
  if (s < 30 * 86400) return Math.floor(s / 86400) + ' d ago';
  return '';
}
setInterval(() => {
  for (const time of $$('time[data-ago]')) {
    const text = ago(Date.parse(time.dateTime));
    if (text) time.textContent = text;
  }
}, 5000);

// load fetches one of our own pages and puts parts of it into this one.
let loading;
async function load(address, parts) {
  loading?.abort();
  loading = new AbortController();
  const answer = await fetch(address, { signal: loading.signal, headers: { Accept: 'text/html' } });
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of parts) {
    const fresh = $(part, page);
    if (fresh && $(part)) $(part).replaceWith(document.adoptNode(fresh));
  }
  return answer;
}

// The list follows the search field.
const find = $('#find');
if (find) {
  let timer;
  const search = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const asked = new URLSearchParams(new FormData(find));
      for (const [name, value] of [...asked]) if (!value) asked.delete(name);
      const address = '/+' + (asked.size ? '?' + asked : '');
      try {
        await load(address, ['#rows', '.files']);
        history.replaceState(null, '', address);
        const n = $$('#rows tbody tr').length;
        say(n === 0 ? 'Nothing is found' : n + (n === 1 ? ' link' : ' links'));
      } catch (error) {
        if (error.name !== 'AbortError') say('The list could not be loaded');
      }
    }, 150);
  };
  find.addEventListener('input', search);
  find.addEventListener('submit', (event) => { event.preventDefault(); search(); });
}

// Making a link leaves the page where it is: its outcome and the list are
// replaced by those of the page that the form leads to.
const make = $('#make');
if (make) {
  make.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = $('button.main', make);
    button.disabled = true;
    try {
      const answer = await fetch('/+', {
        method: 'POST', body: new URLSearchParams(new FormData(make, event.submitter)), headers: { Accept: 'text/html' },
      });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (!$('#outcome', page)) { location.reload(); return; }
      $('#outcome').replaceWith(document.adoptNode($('#outcome', page)));
      const field = new Set(['f-url', 'f-code']);
      for (const id of field) $('#' + id).removeAttribute('aria-invalid');
      const bad = $('[aria-invalid]', page);
      if (bad && $('#' + bad.id)) {
        $('#' + bad.id).setAttribute('aria-invalid', 'true');
        $('#' + bad.id).focus();
      }
      $('#outcome [name=offer]')?.focus();
      if ($('#outcome .made')) {
        make.reset();
        for (const input of $$('input:not([type=checkbox])', make)) input.value = '';
        if ($('#rows', page)) $('#rows').replaceWith(document.adoptNode($('#rows', page)));
        $('#outcome .copy')?.focus();
      }
    } catch {
      say('The server cannot be reached');
    } finally {
      button.disabled = false;
    }
  });
}

// The live tail: one EventSource, which the browser takes up again by itself
// where it was interrupted.
const live = $('#live');
const one = $('main.one');
let paused = false;
let drawn = [];
const keep = 100;
const kinds = ['human', 'bot', 'prefetch', 'head'];

function nameOf(click) {
  return kinds[click.kind] ?? click.kind ?? 'human';
}

// line makes a line of the tail.
function line(click) {
  const item = document.createElement('li');
  const add = (name, text, kind) => {
    const part = document.createElement(name);
    if (kind) part.className = kind;
    part.textContent = text;
    item.append(part);
    return part;
  };
  const at = new Date(click.at);
  add('time', at.toISOString().slice(11, 19)).dateTime = at.toISOString();
  add('b', click.code || click.path || '?');
  add('span', click.country && click.country !== '??' ? click.country : '', 'from');
  const kind = nameOf(click);
  const by = [[click.browser, click.os].filter(Boolean).join(' / '), click.referrer].filter(Boolean);
  add('span', (kind === 'human' ? '' : kind + ' · ') + by.join(' · '), 'by');
  item.className = kind === 'human' ? '' : 'bot';
  return item;
}

// counted shows a click in the numbers of the page, too.
function counted(click) {
  if (!click.code) return;
  const column = nameOf(click) === 'human' ? 'clicks' : 'bots';
  const row = $$('#rows tr').find((r) => r.dataset.code === click.code);
  if (!row) return;
  const cell = $('[data-n=' + column + ']', row);
  cell.textContent = group.format(Number(cell.textContent.replaceAll(',', '')) + 1);
  const last = document.createElement('time');
  last.dateTime = new Date(click.at).toISOString();
  last.dataset.ago = '';
  last.textContent = ago(Date.parse(last.dateTime)) || 'now';
  $('.c-last', row).replaceChildren(last);
  row.classList.remove('flash');
  void row.offsetWidth; // so that the animation begins again
  row.classList.add('flash');
}

// Clicks are drawn once a frame, however fast they come.
function draw() {
  const tail = $('#tail');
  const some = drawn.splice(0);
  for (const click of some) counted(click);
  if (paused) return;
  $('#tail-empty').hidden = true;
  tail.prepend(...some.slice(-keep).reverse().map(line));
  while (tail.children.length > keep) tail.lastChild.remove();
}

function follow() {
  live.hidden = false;
  const source = new EventSource('/api/v1/clicks/live');
  const take = (event) => {
    let click;
    try { click = JSON.parse(event.data); } catch { return; }
    if (drawn.length === 0) requestAnimationFrame(draw);
    if (drawn.length < 1000) drawn.push(click);
  };
  source.addEventListener('message', take);
  source.addEventListener('click', take);
  source.addEventListener('open', () => { $('#tail-empty').textContent = 'Waiting for a click.'; });
  source.addEventListener('error', () => { $('#tail-empty').textContent = 'Not connected; trying again.'; });
}
function pause() {
  if (!live) return;
  paused = !paused;
  $('#pause').setAttribute('aria-pressed', String(paused));
  $('#pause').textContent = paused ? 'Go on' : 'Pause';
  say(paused ? 'The live tail is paused' : 'The live tail goes on');
}
if (live) {
  follow();
  $('#pause').addEventListener('click', pause);
}

// The state of the server, every other second while the page is seen.
let before;
async function health() {
  if (document.hidden) return;
  let now;
  try {
    const answer = await fetch('/api/v1/health', { headers: { Accept: 'application/json' } });
    now = await answer.json();
  } catch {
    const lamp = $('[data-health=state]');
    lamp.className = 'lamp lost';
    lamp.textContent = 'not reachable';
    before = undefined;
    return;
  }
  const show = (name, text) => { $('[data-health=' + name + ']').textContent = text; };
  const plural = (name, n) => { $('[data-of=' + name + ']').textContent = n === 1 ? name.slice(0, -1) : name; };
  if (typeof now.links === 'number') {
    show('links', group.format(now.links));
    plural('links', now.links);
  }
  if (typeof now.clicks === 'number') {
    show('clicks', group.format(now.clicks));
    plural('clicks', now.clicks);
    if (before && now.clicks >= before.clicks) {
      const rate = (now.clicks - before.clicks) / ((performance.now() - before.at) / 1000);
      show('rate', (rate < 10 ? rate.toFixed(1) : group.format(Math.round(rate))) + '/s');
      $('.rate').hidden = false;
    }
    before = { clicks: now.clicks, at: performance.now() };
  }
  const lag = Number(now.lag_seconds ?? 0);
  const lost = Number(now.lost ?? 0);
  show('lag', lag.toFixed(1) + ' s');
  show('lost', group.format(lost));
  $('.lost').hidden = lost === 0;
  const well = now.status === 'ok' && lost === 0 && lag < 60;
  const lamp = $('[data-health=state]');
  lamp.className = 'lamp ' + (well ? 'live' : 'lost');
  lamp.textContent = well ? 'recording' : (now.status ?? 'state unknown');
}
if ($('[data-health=state]')) setInterval(health, 2000);

// The chart says what is below the pointer, or the finger.
const chart = $('#chart');
if (chart) {
  const readout = $('#readout');
  const usual = readout.textContent;
  chart.addEventListener('pointermove', (event) => {
    const group = event.target.closest('g');
    for (const g of $$('g.on', chart)) g.classList.remove('on');
    if (!group) { readout.textContent = usual; return; }
    group.classList.add('on');
    readout.textContent = group.dataset.name + ': ' + group.dataset.text;
  });
  chart.addEventListener('pointerleave', () => {
    for (const g of $$('g.on', chart)) g.classList.remove('on');
    readout.textContent = usual;
  });
}

// Keys. Single ones can be switched off, and never act while something is typed.
const keys = $('#keys');
const on = $('#keys-on');
$('#keys-open').hidden = false;
$('.keys').hidden = false;
$('#keys-open').addEventListener('click', () => keys.showModal());
try { on.checked = localStorage.getItem('keys') !== 'off'; } catch { /* not allowed: on */ }
on.addEventListener('change', () => {
  try { localStorage.setItem('keys', on.checked ? 'on' : 'off'); } catch { /* for this page only */ }
});

function move(step) {
  const links = $$('[data-row]');
  if (links.length === 0) return;
  const at = links.indexOf(document.activeElement?.closest('tr')?.querySelector('[data-row]'));
  links[Math.min(links.length - 1, Math.max(0, at + step))].focus();
}
const actions = {
  n: () => ($('#f-url') && $('#make') ? $('#f-url').focus() : location.assign('/+#make')),
  '/': () => ($('#q') ? $('#q').focus() : location.assign('/+')),
  j: () => move(1),
  k: () => move(-1),
  c: () => {
    const row = document.activeElement?.closest('tr');
    const button = (row && $('[data-copy]', row)) || $('#outcome [data-copy]') || $('main.one [data-copy]');
    if (button) copy(button.dataset.copy);
  },
  e: () => { if (one) { location.hash = 'edit'; $('#f-url').focus(); } },
  l: () => location.assign('/+'),
  p: pause,
  x: () => document.activeElement?.closest('tr')?.querySelector('.c-tick input')?.click(),
  '?': () => keys.showModal(),
};
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && event.target.closest?.('input, select')) { event.target.blur(); return; }
  if (!on.checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest?.('input:not([type=checkbox]), select, textarea, dialog')) return;
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); }
});
