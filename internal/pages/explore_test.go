package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/programtest"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// exploreTable is a name with everything that ends something elsewhere.
const exploreTable = `odd "t" #?&/%'ö`

// exploreKeys are keys of one text column: quotes, codes of shells, ends of lines, marks that
// turn a line, what parts a path.
var exploreKeys = []string{
	`'; touch pwned; '`, `$(touch pwned)`, "`touch pwned`", `\'$(touch pwned)`, `!! %s %d %%`,
	"a\r\nb\r\n", "txt\u202Egnp.exe", `"quoted"`, "--help", "-x", "a b?c#d&e=f/g%2Fh+i", "50%", "a,b",
	"tab\tand", " ", "end\n", "ö/\U0001F600", "<b>", ".", "..", `\`,
}

// An exploreDatabase is a database with columns of every kind, served with a page.
type exploreDatabase struct {
	url       string
	exec      func(sql string) string
	quote     func(text string) string // as a text of SQL
	name      func(name string) string // as a name of SQL
	edits     []exploreEdit
	unordered string // columns that are not compared
}

// An exploreEdit is a new value of a column, and what the database then says of it.
type exploreEdit struct{ column, value, asked, want string }

// others are the values of the first row but one: the same before and after its edit.
func (d *exploreDatabase) others(columns []string, but string) string {
	var list []string
	for _, c := range columns {
		if c != but {
			list = append(list, d.name(c))
		}
	}
	return d.exec("SELECT " + strings.Join(list, ", ") + " FROM " + d.name(exploreTable) + " ORDER BY id LIMIT 1")
}

const explorePostgresSQL = `CREATE TYPE mood AS ENUM ('sad', 'so so', 'it''s "ok"');
CREATE TABLE "odd ""t"" #?&/%'ö" (id bigint PRIMARY KEY, "d e,c" numeric(40,10), "r/a&w" bytea, doc jsonb,
	old json, list bigint[], words text[], mood mood, at timestamptz, local timestamp(6), "n'u""l#?&/%\" text,
	big bigint, u uuid, fl double precision, fl4 real, flag boolean, day date,
	clock time, span interval, ip inet, bits bit(3), "order" int, "__proto__" int, "1" int, note text);
INSERT INTO "odd ""t"" #?&/%'ö" SELECT 9007199254740992 + i, 123456789012345678901234567890.0123456789 + i,
	'\x00ff0d0a27225c'::bytea,
	('{"n": 9007199254740993, "d": 1.10, "a": [12345678901234567890, null], "z": ' || i || '}')::jsonb,
	'{"b": 1.50, "a": 18446744073709551615}', ARRAY[9223372036854775807, NULL, -9007199254740993],
	ARRAY['a,b', '"', NULL, '', '{}'], 'it''s "ok"', '2024-02-29 23:59:59.123456+14', '2024-02-29 23:59:59.123456',
	NULL, -9223372036854775808 + i,
	'6ba7b810-9dad-11d1-80b4-00c04fd430c8', 0.1, 0.1, i % 2 = 0, '0044-03-15 BC', '23:59:59.999999',
	'1 mon 2 days 00:00:03.5', '2001:db8::1/64', B'101', i, i, i, 'a' || chr(13) || chr(10) || 'b'
	FROM generate_series(1, 60) i;
CREATE TABLE "k/eys" ("key" text PRIMARY KEY, note text);
CREATE TABLE pairs ("k,1" text, k2 bigint, note text, PRIMARY KEY ("k,1", k2));
CREATE TABLE raws ("key" bytea PRIMARY KEY, note text);
INSERT INTO raws VALUES ('\x00ff2f', 'raw'), ('\x2c', 'comma');
CREATE TABLE decs ("key" numeric PRIMARY KEY, note text);
INSERT INTO decs VALUES (12345678901234567890.10, 'dec');
CREATE TABLE ats ("key" timestamptz PRIMARY KEY, note text);
INSERT INTO ats VALUES ('2024-02-29 23:59:59.123456+14', 'at');
CREATE TABLE moods ("key" mood PRIMARY KEY, note text);
INSERT INTO moods VALUES ('it''s "ok"', 'mood');
CREATE TABLE refs (id int PRIMARY KEY, "order" bytea REFERENCES raws, note text);
INSERT INTO refs VALUES (1, '\x00ff2f', 'to raw'), (2, '\x2c', 'to comma');`

const exploreMariaSQL = "CREATE TABLE `odd \"t\" #?&/%'ö` (id bigint PRIMARY KEY, `d e,c` decimal(40,10)," +
	" `r/a&w` blob, doc json, mood enum('sad', 'so so', 'it''s \"ok\"'), several set('a', 'b c')," +
	" at timestamp(6) NULL, local datetime(6), `n'u\"l#?&/%\\` text," +
	" big bigint, u bigint unsigned, fl double, fl4 float," +
	" flag boolean, day date, clock time(6), y year, bits bit(3)," +
	" `order` int, `__proto__` int, `1` int, note text);" +
	"SET time_zone = '+00:00';" +
	"INSERT INTO `odd \"t\" #?&/%'ö` SELECT 9007199254740992 + seq, 123456789012345678901234567890.0123456789 + seq," +
	" x'00ff0d0a27225c'," +
	" concat('{\"n\": 9007199254740993, \"d\": 1.10, \"a\": [12345678901234567890, null], \"z\": ', seq, '}')," +
	" 'it''s \"ok\"', 'a,b c', '2024-02-29 23:59:59.123456', '2024-02-29 23:59:59.123456', NULL," +
	" -9223372036854775807 + cast(seq AS signed), 18446744073709551615," +
	" 0.1, 0.1, seq % 2 = 0, '1000-01-01', '23:59:59.5', 1999, b'101'," +
	" seq, seq, seq, 'a\\r\\nb' FROM seq_1_to_60;" +
	"CREATE TABLE `k/eys` (`key` varchar(100) COLLATE utf8mb4_nopad_bin PRIMARY KEY, note text);" +
	"CREATE TABLE pairs (`k,1` varchar(100) COLLATE utf8mb4_nopad_bin, k2 bigint, note text," +
	" PRIMARY KEY (`k,1`, k2));" +
	"CREATE TABLE raws (`key` varbinary(20) PRIMARY KEY, note text);" +
	"INSERT INTO raws VALUES (x'00ff2f', 'raw'), (x'2c', 'comma');" +
	"CREATE TABLE decs (`key` decimal(30,2) PRIMARY KEY, note text);" +
	"INSERT INTO decs VALUES (12345678901234567890.10, 'dec');" +
	"CREATE TABLE ats (`key` datetime(6) PRIMARY KEY, note text);" +
	"INSERT INTO ats VALUES ('2024-02-29 23:59:59.123456', 'at');" +
	"CREATE TABLE moods (`key` enum('sad', 'it''s \"ok\"') PRIMARY KEY, note text);" +
	"INSERT INTO moods VALUES ('it''s \"ok\"', 'mood');" +
	"CREATE TABLE refs (id int PRIMARY KEY, `order` varbinary(20), note text," +
	" FOREIGN KEY (`order`) REFERENCES raws (`key`));" +
	"INSERT INTO refs VALUES (1, x'00ff2f', 'to raw'), (2, x'2c', 'to comma');"

func explorePostgres(t *testing.T) *exploreDatabase {
	url := dbtest.Postgres(t, dbtest.Setup(explorePostgresSQL))
	return &exploreDatabase{url: url, unordered: "doc old list words",
		exec:  func(sql string) string { return dbtest.Psql(t, url, sql) },
		quote: func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
		name:  func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
		edits: []exploreEdit{
			{"d e,c", "-123456789012345678901234567890.0123456789", "%s", "-123456789012345678901234567890.0123456789"},
			{"big", "-9223372036854775808", "%s", "-9223372036854775808"},
			{"r/a&w", "/wAi", "encode(%s, 'hex')", "ff0022"},
			{"doc", `{"n": 9007199254740995, "d": 1.10}`, "%s", `{"d": 1.10, "n": 9007199254740995}`},
			{"list", "[-9223372036854775807, null]", "%s", "{-9223372036854775807,NULL}"},
			{"mood", "so so", "%s", "so so"},
			{"at", "2025-01-01T00:00:00.000001Z", "%s AT TIME ZONE 'UTC'", "2025-01-01 00:00:00.000001"},
			{`n'u"l#?&/%\`, `"q" 'x'`, "%s", `"q" 'x'`},
			{"__proto__", "7", "%s", "7"},
		}}
}

func exploreMariaDB(t *testing.T) *exploreDatabase {
	url := dbtest.MariaDB(t, dbtest.Setup(exploreMariaSQL))
	return &exploreDatabase{url: strings.Replace(url, "mysql:", "mariadb:", 1), unordered: "doc",
		exec: func(sql string) string { return dbtest.MariaDBShell(t, url, sql) },
		quote: func(s string) string {
			return "'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\r", `\r`).Replace(s) + "'"
		},
		name: func(s string) string { return "`" + s + "`" },
		edits: []exploreEdit{
			{"d e,c", "-123456789012345678901234567890.0123456789", "%s", "-123456789012345678901234567890.0123456789"},
			{"big", "-9223372036854775808", "%s", "-9223372036854775808"},
			{"u", "18446744073709551614", "%s", "18446744073709551614"},
			{"r/a&w", "/wAi", "hex(%s)", "FF0022"},
			{"doc", `{"n": 9007199254740995, "d": 1.10}`, "%s", `{"n": 9007199254740995, "d": 1.10}`},
			{"mood", "so so", "%s", "so so"},
			{"local", "2025-01-01T00:00:00.000001", "%s", "2025-01-01 00:00:00.000001"},
			{`n'u"l#?&/%\`, `"q" 'x'`, "%s", `"q" 'x'`},
			{"__proto__", "7", "%s", "7"},
		}}
}

// An explorer is the page over a database, in a browser.
type explorer struct {
	*exploreDatabase
	t       *testing.T
	tab     *browsertest.Tab
	base    string
	columns []string
	dir     string // where commands run
	env     []string
}

// TestChromium_ExplorePostgres is over TLS and HTTP/2, as TestChromium_ExploreMariaDB is without.
func TestChromium_ExplorePostgres(t *testing.T) {
	t.Parallel()
	d := explorePostgres(t)
	cert, key := tlstest.New(t, "explore").Write(t, t.TempDir())
	e := explore(t, d, "HOTROW_HTTP_TLS_CERT="+cert, "HOTROW_HTTP_TLS_KEY="+key)
	e.env = []string{"CURL_CA_BUNDLE=" + cert}
	e.all()
	protocols := fmt.Sprint(e.tab.Eval(`[...new Set(
		performance.getEntriesByType('resource').map((e) => e.nextHopProtocol))].join()`))
	if protocols != "h2" {
		t.Errorf("the browser spoke %s", protocols)
	}
}

func TestChromium_ExploreMariaDB(t *testing.T) {
	t.Parallel()
	explore(t, exploreMariaDB(t)).all()
}

func explore(t *testing.T, d *exploreDatabase, env ...string) *explorer {
	for i, k := range exploreKeys {
		d.exec(fmt.Sprintf("INSERT INTO %s VALUES (%s, %[2]s); INSERT INTO pairs VALUES (%[2]s, %d, %[2]s)",
			d.name("k/eys"), d.quote(k), 9007199254740993+i))
	}
	r := programtest.Start(t, env, d.url, "--writable")
	programtest.Until(t, r.Log, r.Complete)
	e := &explorer{exploreDatabase: d, t: t, base: r.HTTP, dir: t.TempDir(),
		tab: browsertest.New(t, "ignore-certificate-errors").Tab(browsertest.Desktop)}
	return e
}

// passesOver reports whether the i-th column, or key, is one for the long tests: before each change
// one of three is tried.
func (e *explorer) passesOver(i int) bool { return !waittest.Long() && i%3 > 0 }

func (e *explorer) all() {
	e.rows()
	e.questions()
	e.related()
	e.pages()
	e.edited()
	e.saved()
	e.keys()
	for _, m := range e.tab.Console() {
		if !strings.Contains(m, "status of 400") {
			e.t.Errorf("console: %s", m)
		}
	}
}

func js(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// open opens the table, by its card.
func (e *explorer) open() {
	e.t.Helper()
	e.tab.Open("about:blank")
	e.tab.Open(e.base + "/")
	e.tab.Until(`document.querySelector('.table-card')`)
	e.tab.Eval(`[...document.querySelectorAll('.table-card a')].find(
		(a) => a.textContent === ` + js(exploreTable) + `).click()`)
	e.tab.Until(`document.querySelectorAll('table.rows > tbody > tr').length === 50 &&
		document.querySelector('#count').innerText === '60 rows'`)
}

const exploreText = `document.querySelector('table.rows, dl.values')?.innerText ?? ''`

// digits checks that what is shown has all digits of values.
func (e *explorer) digits(where, shown string) {
	e.t.Helper()
	for _, want := range []string{"9007199254740993", "123456789012345678901234567891.0123456789", "AP8NCiciXA==",
		"12345678901234567890", "1.1", `it's "ok"`, "59.123456", "null"} {
		if !strings.Contains(shown, want) {
			e.t.Errorf("%s has no %s: %s", where, want, shown)
		}
	}
}

func (e *explorer) rows() {
	e.open()
	e.digits("the list", e.tab.Eval(exploreText).(string))
	heads := e.tab.Eval(`[...document.querySelectorAll('table.rows > thead th')].map((h) => h.textContent)`)
	for _, c := range heads.([]any) {
		e.columns = append(e.columns, c.(string))
	}
	e.tab.Screenshot("explore/database")
	e.tab.Click(`table.rows > tbody a`)
	e.tab.Until(`document.querySelector('dl.values dd')`)
	e.digits("the card", e.tab.Eval(exploreText).(string))
	if n := int(e.tab.Eval(`document.querySelectorAll('dl.values > dd').length`).(float64)); n != len(e.columns) {
		e.t.Errorf("the card has %d values, the list %d", n, len(e.columns))
	}
	e.tab.Click("#watch")
	e.tab.Until(`document.querySelector('#from .live')`)
	e.exec("UPDATE " + e.name(exploreTable) + " SET big = 9007199254740997 WHERE id = 9007199254740993")
	e.tab.Until(`document.querySelector('dd.flash')?.innerText.startsWith('9007199254740997')`)
	e.open()
	e.tab.Click("#watch")
	e.tab.Until(`document.querySelector('#from .live')`)
	e.exec("UPDATE " + e.name(exploreTable) + " SET big = 9007199254740999 WHERE id = 9007199254740993")
	e.tab.Until(`document.querySelector('td.flash')?.innerText === '9007199254740999'`)
}

// questions puts the list in order by each column, and finds a row by each column's value. What
// no database compares has no order and no such filter.
func (e *explorer) questions() {
	path := "'#/' + encodeURIComponent(" + js(exploreTable) + ")"
	list := `document.querySelectorAll('table.rows > tbody > tr').length === 50 &&
		!document.querySelector('.chip, [aria-sort]')`
	e.tab.Eval(`(import('./-/explore/show.js').then((m) => { window.shows = m; }), 1)`)
	e.tab.Eval(`(import('./-/explore/data.js').then((m) => m.read('/' + m.encode(` + js(exploreTable) +
		`) + '/9007199254740993')).then((a) => { window.row = a.body; }), 1)`)
	e.tab.Until(`window.shows && window.row`)
	var not []string
	for i, c := range e.columns {
		if e.passesOver(i) {
			continue
		}
		e.tab.Eval(`(location.hash = ` + path + `, 1)`)
		e.tab.Until(list)
		sort := `[...document.querySelectorAll('button.sort')].find((b) => b.textContent === ` + js(c) + `)`
		if e.tab.Eval(sort+` ? 1 : 0`) == 0.0 {
			not = append(not, c)
			continue
		}
		e.tab.Eval(`(` + sort + `.click(), 1)`)
		e.tab.Until(`document.querySelector('th[aria-sort=ascending]')?.textContent === ` + js(c) +
			` && document.querySelectorAll('table.rows > tbody > tr').length === 50 ||
			document.querySelector('.problem')`)
		if p := e.tab.Text(".problem"); p != "" {
			e.t.Errorf("in the order of %s: %s", c, p)
		}
		e.tab.Eval(`(location.hash = ` + path + `, 1)`)
		e.tab.Until(list)
		e.tab.Eval(`(() => {
			const set = (label, value) => {
				const s = document.querySelector('select[aria-label=' + label + ']');
				s.value = value;
				s.dispatchEvent(new Event('change'));
			};
			const value = row[` + js(c) + `];
			set('column', ` + js(c) + `);
			set('comparison', value === null ? 'is.null' : 'eq');
			document.querySelector('#find').value = shows.textOf(value).replace(/[\r\n]/g, '');
			document.querySelector('#find').form.requestSubmit();
			return 1;
		})()`)
		e.tab.Until(`document.querySelector('.chip') && document.querySelector('.problem, #from span')`)
		if c == "note" { // its end of a line cannot be typed
			continue
		}
		if p := e.tab.Text(".problem") + e.tab.Eval(exploreText).(string); !strings.Contains(p, "9007199254740993") {
			e.t.Errorf("by the value of %s, %v: %s", c, e.tab.Eval("location.hash"), p)
		}
	}
	if got := strings.Join(not, " "); got != e.unordered && waittest.Long() {
		e.t.Errorf("no order is offered of %s, want %s", got, e.unordered)
	}
}

// related goes from a row to those that name it and back, by bytes in a column with a name of
// the grammar's own.
func (e *explorer) related() {
	e.tab.Open("about:blank")
	e.tab.Open(e.base + "/#/raws/00ff2f")
	e.tab.Until(`document.querySelector('.related a')`)
	e.tab.Click(".related a")
	// The row's own page has a #from, too, and no chip.
	e.tab.Until(`document.querySelector('.chip') && document.querySelector('.problem, #from span')`)
	if text := e.tab.Text("main"); !strings.Contains(text, "to raw") || strings.Contains(text, "to comma") {
		e.t.Errorf("what names a row: %v: %s", e.tab.Eval("location.hash"), text)
	}
	e.tab.Click(`a[href="#/raws/00ff2f"]`)
	e.tab.Until(`document.querySelector('dl.values dd')`)
	// A key that is no text of a path is refused, not passed over.
	e.tab.Open("about:blank")
	e.tab.Open(e.base + "/#/decs/50%")
	e.tab.Until(`document.querySelector('.problem')`)
}

func (e *explorer) pages() {
	e.open()
	e.tab.Click("#next")
	e.tab.Until(`document.querySelectorAll('table.rows > tbody > tr').length === 10`)
	s := e.tab.Eval(exploreText).(string)
	if !strings.Contains(s, "9007199254741052") || strings.Contains(s, "9007199254741042") {
		e.t.Errorf("the second page is %s", s)
	}
}

func (e *explorer) edited() {
	for _, x := range e.edits {
		e.open()
		e.tab.Click(`table.rows > tbody a`)
		e.tab.Until(`document.querySelector('dl.values button')`)
		before := e.others(e.columns, x.column)
		label := js("edit " + x.column)
		e.tab.Eval(`[...document.querySelectorAll('dl.values button')].find(
			(b) => b.getAttribute('aria-label') === ` + label + `).click()`)
		e.tab.Eval(`((a) => {
			a.value = ` + js(x.value) + `;
			a.dispatchEvent(new Event('input'));
			a.form.requestSubmit();
		})(document.querySelector('dl.values textarea')) ?? 1`)
		e.tab.Until(`!document.querySelector('dl.values textarea') || document.querySelector('.edit .problem')`)
		if p := e.tab.Text(".edit .problem"); p != "" {
			e.t.Errorf("EDIT %s: %s", x.column, p)
			continue
		}
		got := strings.TrimSpace(e.exec("SELECT " + fmt.Sprintf(x.asked, e.name(x.column)) +
			" FROM " + e.name(exploreTable) + " ORDER BY id LIMIT 1"))
		if got != x.want {
			e.t.Errorf("EDIT %s: the database says %s, want %s", x.column, got, x.want)
		}
		if after := e.others(e.columns, x.column); after != before {
			e.t.Errorf("EDIT %s: other columns were %s, are %s", x.column, before, after)
		}
	}
	// A text keeps its ends of lines.
	e.tab.Eval(`document.querySelector('[aria-label="edit note"]').click()`)
	e.tab.Eval(`((a) => { a.value += 'c'; a.form.requestSubmit(); })(
		document.querySelector('dl.values textarea')) ?? 1`)
	e.tab.Until(`!document.querySelector('dl.values textarea')`)
	got := strings.TrimSpace(e.exec("SELECT count(*) FROM " + e.name(exploreTable) + " WHERE note = " +
		map[bool]string{true: `E'a\r\nbc'`, false: `'a\r\nbc'`}[strings.HasPrefix(e.url, "postgres")]))
	if got != "1" {
		e.t.Errorf("a text lost its ends of lines")
	}
}

func (e *explorer) saved() {
	e.open()
	e.tab.Eval(`((make) => { URL.createObjectURL = (b) => {
		b.text().then((t) => { window.saved = t; });
		return make(b);
	}; })(URL.createObjectURL.bind(URL)) ?? 1`)
	e.tab.Eval(`[...document.querySelectorAll('button')].find((b) => b.textContent === 'CSV').click()`)
	e.tab.Until(`window.saved`)
	text := e.tab.Eval(`window.saved`).(string)
	for _, want := range []string{"9007199254740994", "123456789012345678901234567892.0123456789",
		"12345678901234567890", "1.10", `"a` + "\r\n" + `b"`, `"it's ""ok"""`} {
		if !strings.Contains(text, want) {
			e.t.Errorf("CSV has no %s: %.2000s", want, text)
		}
	}
}

// keys opens each row by its link, and runs what the page gives to copy.
func (e *explorer) keys() {
	for _, table := range []string{"k/eys", "pairs", "raws", "decs", "ats", "moods"} {
		e.tab.Open("about:blank")
		e.tab.Open(e.base + "/#/" + strings.ReplaceAll(table, "/", "%2F"))
		e.tab.Until(`document.querySelectorAll('table.rows > tbody > tr > td').length > 1`)
		rows := e.tab.Eval(`[...document.querySelectorAll('table.rows > tbody > tr')].map((r) => [
			r.lastChild.textContent,
			r.querySelector('a[href^="#/"]')?.hash ?? ''])`).([]any)
		own := table == "k/eys" || table == "pairs"
		if own && len(rows) != len(exploreKeys) {
			e.t.Errorf("%s has %d rows", table, len(rows))
		}
		for i, row := range rows {
			if own && e.passesOver(i) {
				continue
			}
			note, hash := row.([]any)[0].(string), row.([]any)[1].(string)
			if hash == "" {
				if table != "k/eys" || note != "." && note != ".." {
					e.t.Errorf("%s: %q has no address", table, note)
				}
				continue
			}
			e.tab.Open(e.base + "/" + hash)
			e.tab.Until(`document.querySelector('dl.values dd') && document.querySelector('[data-kind=curl] code') ||
				document.querySelector('.problem')`)
			if p := e.tab.Text(".problem"); p != "" {
				e.t.Errorf("%s: %s", hash, p)
				continue
			}
			note = e.tab.Eval(`[...document.querySelectorAll('dl.values dd')].at(-1).firstChild.textContent`).(string)
			for _, kind := range []string{"curl", "redis-cli"} {
				code := `document.querySelector('[data-kind=` + kind + `] code')?.textContent`
				command, _ := e.tab.Eval(code).(string)
				for j, shell := range []string{"sh", "bash"} {
					if waittest.Long() || (i+j)%2 == 0 {
						e.run(shell, command, note)
					}
				}
			}
		}
	}
	if files, _ := os.ReadDir(e.dir); len(files) > 0 {
		e.t.Errorf("a command has made %v", files)
	}
}

// run runs a command as somebody does who has copied it: it gives the row of a note.
func (e *explorer) run(shell, command, note string) {
	cmd := exec.CommandContext(e.t.Context(), shell, "-c", command)
	cmd.Dir = e.dir
	cmd.Env = append(append(os.Environ(), "HOME="+filepath.Join(e.dir, "none")), e.env...)
	out, err := cmd.Output()
	var got struct{ Note string }
	if e2 := json.Unmarshal(out, &got); err != nil || e2 != nil || got.Note != note {
		e.t.Errorf("%s, %q: %s gives %.300s, %v", shell, note, command, out, err)
	}
}
