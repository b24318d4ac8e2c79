package accesslog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// testColumns have one of each kind, and two texts.
var testColumns = []Column{
	{Name: "time", Kind: Time}, {Name: "path", Kind: Text, Max: 64}, {Name: "status", Kind: Int},
	{Name: "agent", Kind: Text, Max: 16}, {Name: "weight", Kind: Count}, {Name: "duration", Kind: Duration},
}

// record puts one record into a ring.
func record(r *Ring, path, agent string, status, weight int64) bool {
	if !r.Start(time.Date(2026, 11, 22, 1, 2, 3, 4_999_999, time.UTC)) {
		return false
	}
	r.Text(path)
	r.Int(status)
	r.Text(agent)
	r.Int(weight)
	r.End()
	return true
}

// idle returns a Log whose writer does nothing, so that the test reads its rings.
func idle(tb testing.TB, c Config) *Log {
	tb.Helper()
	c.Columns = testColumns
	l, err := Open(c, Settings{Mode: Off})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// lineOf returns the line of one record.
func lineOf(tb testing.TB, l *Log, f Format, path, agent string, status, weight int64) string {
	tb.Helper()
	r := newRing(l)
	record(r, path, agent, status, weight)
	r.Publish(1234567 * time.Microsecond)
	out, n, more := (&reader{r: r}).read(newEncoder(testColumns, f), nil, r.head.Load(), 1<<20)
	if n != 1 || more {
		tb.Fatalf("%d lines, more %v", n, more)
	}
	return string(out)
}

func TestEncoder_Lines(t *testing.T) {
	l := idle(t, Config{})
	long := strings.Repeat("p", 63) + "äö"
	tests := []struct {
		name        string
		path, agent string
		weight      int64
		json, ltsv  string // what is between time and duration
	}{
		{"plain", "/depts/10", "curl/8", 0,
			`"path":"/depts/10","status":200,"agent":"curl/8"`,
			"path:/depts/10\tstatus:200\tagent:curl/8"},
		{"empty and weighed", "", "", 100, `"status":200,"weight":100`, "status:200\tweight:100"},
		{"line breaks", "/a\r\nb\tc", "", 0, `"path":"/a\u000d\nb\tc","status":200`,
			`path:/a\r\nb\tc` + "\tstatus:200"},
		{"quotes", `a"b\c`, "", 0, `"path":"a\"b\\c","status":200`, `path:a"b\\c` + "\tstatus:200"},
		{"not UTF-8", "a\xffb", "", 0, `"path":"a\ufffdb","status":200`, `path:a\xffb` + "\tstatus:200"},
		{"a terminal's commands", "\x1b[2J\u009b", "", 0, `"path":"\u001b[2J\u009b","status":200`,
			`path:\x1b[2J\xc2\x9b` + "\tstatus:200"},
		{"line separator, direction", "\u2028\u202e\U000e0001", "", 0,
			`"path":"\u2028\u202e\udb40\udc01","status":200`,
			`path:\xe2\x80\xa8\xe2\x80\xae\xf3\xa0\x80\x81` + "\tstatus:200"},
		{"letters", "/städte/京", "😀", 0, `"path":"/städte/京","status":200,"agent":"😀"`,
			"path:/städte/京\tstatus:200\tagent:😀"},
		{"cut within a letter", long, "0123456789abcdefg", 0,
			`"path":"` + long[:63] + `…","status":200,"agent":"0123456789abcdef…"`,
			"path:" + long[:63] + "…\tstatus:200\tagent:0123456789abcdef…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := `{"time":"2026-11-22T01:02:03.004Z",` + tt.json + `,"duration":1.234567}` + "\n"
			if d := cmp.Diff(want, lineOf(t, l, JSON, tt.path, tt.agent, 200, tt.weight)); d != "" {
				t.Errorf("JSON (-want +got):\n%s", d)
			}
			want = "time:2026-11-22T01:02:03.004Z\t" + tt.ltsv + "\tduration:1.234567\n"
			if d := cmp.Diff(want, lineOf(t, l, LTSV, tt.path, tt.agent, 200, tt.weight)); d != "" {
				t.Errorf("LTSV (-want +got):\n%s", d)
			}
		})
	}
}

// A column that a line always has is there when it is empty.
func TestEncoder_AlwaysHasAColumn(t *testing.T) {
	columns := []Column{{Name: "ua", Kind: Text, Max: 9, Always: true}, {Name: "host", Kind: Text, Max: 9}}
	l, err := Open(Config{Columns: columns}, Settings{Mode: Off})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for f, want := range map[Format]string{JSON: `{"ua":""}` + "\n", LTSV: "ua:\n"} {
		r := newRing(l)
		if !r.Start(time.Unix(0, 0)) {
			t.Fatal("no room")
		}
		r.Text("")
		r.Text("")
		r.End()
		r.Publish(0)
		out, n, _ := (&reader{r: r}).read(newEncoder(columns, f), nil, r.head.Load(), 1<<20)
		if n != 1 || string(out) != want {
			t.Errorf("%d lines: %q, want %q", n, out, want)
		}
	}
}

// Whatever a request holds, it makes one line, from which it can be read again.
func FuzzEncoder(f *testing.F) {
	for _, s := range []string{"/depts/10", "", "a\nb\tc\r\\\"", "\xff\xc3", "\x00\x7f\u0085\u2028",
		strings.Repeat("ä", 40), "😀\U000e0001", `\x41`, "a:b", "{}"} {
		f.Add(s, s, int64(200), int64(0))
	}
	l := idle(f, Config{})
	f.Fuzz(func(t *testing.T, path, agent string, status, weight int64) {
		for _, format := range []Format{JSON, LTSV} {
			line := lineOf(t, l, format, path, agent, status, weight)
			body, ok := strings.CutSuffix(line, "\n")
			if !ok || !utf8.ValidString(body) {
				t.Fatalf("%q has no end, or is not UTF-8", line)
			}
			for _, r := range body {
				if r < ' ' && (r != '\t' || format == JSON) || r >= 0x7f && r < 0xa0 {
					t.Fatalf("%q has control characters", line)
				}
			}
			got := decode(t, format, body)
			wantText(t, format, got["path"], path, 64)
			wantText(t, format, got["agent"], agent, 16)
			if got["status"] != strconv.FormatInt(status, 10) ||
				weight != 0 && got["weight"] != strconv.FormatInt(weight, 10) {
				t.Fatalf("%q has status and weight %q, %q", line, got["status"], got["weight"])
			}
		}
	})
}

// decode reads a line as a consumer would.
func decode(t *testing.T, f Format, line string) map[string]string {
	t.Helper()
	got := map[string]string{}
	if f == LTSV {
		for field := range strings.SplitSeq(line, "\t") {
			name, value, ok := strings.Cut(field, ":")
			if _, twice := got[name]; !ok || twice {
				t.Fatalf("%q: field %q", line, field)
			}
			got[name] = unescape(t, value)
		}
		return got
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	fields := map[string]any{}
	if err := d.Decode(&fields); err != nil || d.More() {
		t.Fatalf("%q: %v", line, err)
	}
	for name, v := range fields {
		switch v := v.(type) {
		case string:
			got[name] = v
		case json.Number:
			got[name] = v.String()
		default:
			t.Fatalf("%q: %s is a %T", line, name, v)
		}
	}
	return got
}

// unescape reads a value of LTSV as the reference page tells to.
func unescape(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	for len(s) > 0 {
		c := s[0]
		s = s[1:]
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		if s == "" {
			t.Fatal("a backslash at the end")
		}
		c, s = s[0], s[1:]
		if i := strings.IndexByte(`\tnr`, c); i >= 0 {
			b.WriteByte("\\\t\n\r"[i])
			continue
		}
		n, err := strconv.ParseUint(s[:2], 16, 8)
		if c != 'x' || err != nil {
			t.Fatalf("\\%c%s", c, s)
		}
		b.WriteByte(byte(n))
		s = s[2:]
	}
	return b.String()
}

// wantText fails unless got is what was sent, or the beginning of it.
func wantText(t *testing.T, f Format, got, sent string, most int) {
	t.Helper()
	clean := func(s string) string {
		if f == JSON {
			return string([]rune(s)) // each byte that is not UTF-8 is U+FFFD
		}
		return s
	}
	if len(sent) <= most {
		if got != clean(sent) {
			t.Fatalf("got %q, sent %q", got, sent)
		}
		return
	}
	kept, ok := strings.CutSuffix(got, mark)
	if !ok || kept != clean(string(whole([]byte(sent[:most])))) {
		t.Fatalf("got %q, sent %q", got, sent)
	}
}
