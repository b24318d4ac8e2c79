// The statements of SQL, by shape: what memory would have saved. Where no SQL is served there is no
// panel.
import {$, count, exact, fill, percent, seconds, seen, set, word} from './show.js';
import {paged} from './ask.js';

const columns = [['shape'], ['saved'], ['took', 'in the database'], ['run'], ['hits', 'would-be hits'], ['looks'], ['wrong'], ['why not']];
for (const [text, key] of columns) {
  const th = word('th', text, key);
  th.scope = 'col';
  $('sql-columns').append(th);
}
const why = (s) => (s.reason === 'eligible' ? s.passed || '–' : s.reason).replaceAll('_', ' ');
const time = (s) => s ? seconds(s) : '–';
const part = (n, of) => of ? percent(n / of) : '–';
const shape = (text) => text.length > 300 ? text.slice(0, 300) + ' …' : text || 'beyond the shapes that are told apart';
const display = (v) => {
  $('sql').hidden = $('jump-sql').hidden = !v.total;
  if (!v.total) return 0;
  const t = v.total;
  const serves = t.mode === 'serve';
  set($('sql-sum'), part(t.eligible, t.count) + ' of ' + exact(t.count) + ' statements are eligible. Memory '
    + (serves ? 'has answered ' : 'would have answered ') + exact(t.hits) + ' of ' + exact(t.looks) + ' that were looked for, and saved '
    + time(t.saved) + (serves ? '; the others took ' : ' of ') + time(t.seconds) + '. '
    + (t.wrong ? exact(t.wrong) + (serves ? ' ANSWERS WERE WRONG.' : ' ANSWERS WOULD HAVE BEEN WRONG.')
      : serves ? 'None was seen to be wrong.' : 'No answer would have been wrong.'));
  fill($('shapes'), v.statements, v.all ? 'None has this text.' : 'No statement was run yet.', columns.length,
    () => document.createElement('bdi'), (s) => [shape(s.shape), time(s.saved), time(s.seconds),
      count(s.count), count(s.hits), count(s.looks), count(s.wrong), why(s)]);
  return v.statements.length;
};
const page = paged('sql', 10, display, () => {}, () => ({sort: '-saved'})); // the stream says that there is no connection
const sees = seen($('sql'));
export const loadSQL = (anyway) => { if (anyway || sees()) page.load(); };
