// Requests to the port that this page came from, with the token of who looks.
let kept = ''; // in the page's memory alone
export const token = () => kept;
export const setToken = (text) => { kept = text; };
export const ask = (url, options = {}) => fetch(url, {...options, cache: 'no-store',
  headers: token() ? {Authorization: 'Bearer ' + token()} : {}});

// paged is a long list: the server finds what has the name, and gives a page of it.
export const paged = (id, limit, display, failed, more = () => ({})) => {
  const form = document.getElementById('page-' + id), [earlier, later] = form.querySelectorAll('button');
  const input = form.querySelector('input'), status = form.querySelector('span');
  let from = 0, busy = false, again = false, wait;
  const load = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const r = await ask('-/' + id + '?' + new URLSearchParams({limit, from, name: input.value.trim(), ...more()}));
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
  return {load, go};
};
