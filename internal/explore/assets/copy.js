import {textOf} from './show.js';

// Requests as people type them. What is copied is ASCII without control characters: whatever
// a key holds, it can neither end its quotes nor hide in the line.

// shell writes a text of plain characters as one word of a shell.
const shell = (text) => "'" + text.replace(/'/g, "'\\''") + "'";

export const curl = (url, token) => 'curl ' + (token ? '-H "Authorization: Bearer $TOKEN" ' : '') +
  "-w '\\n' " + shell(url);

export const script = (url, token) => {
  const options = token ? ', {headers: {Authorization: `Bearer ${token}`}}' : '';
  return 'const answer = await fetch(' + JSON.stringify(url) + options + ');\nconsole.log(await answer.json());';
};

// redis gives the key as it is where it is plain, and else by printf, whose escapes every
// shell knows: redis-cli reads its last argument from there.
export const redis = (port, key, token) => {
  const cli = 'redis-cli -p ' + port + (token ? ' --user default --pass "$TOKEN"' : '');
  if (/^[\x20-\x7e]+$/.test(key) && key[0] !== '-') return cli + ' GET ' + shell(key);
  const octal = Array.from(new TextEncoder().encode(key), (b) =>
    b > 0x20 && b < 0x7f && !/[\\'%]/.test(String.fromCharCode(b)) ? String.fromCharCode(b)
      : '\\' + b.toString(8).padStart(3, '0')).join('');
  return "printf '" + octal + "' | " + cli + ' -x GET';
};

// csv writes a cell. A text that a spreadsheet could take for a formula gets an apostrophe.
export const csv = (value) => {
  let text = textOf(value);
  // As package transfer guards cells: wide, small, raised and lowered forms as well.
  if (typeof value === 'string' && /^([\t\r\n]|[\s\p{C}"']*[=+\-@\u2212])/u.test(text.normalize('NFKC'))) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
};
