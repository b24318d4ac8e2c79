package resp

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// known are the limits of a connection whose client has said who it is.
var known = &Limits{Args: 1 << 20, Arg: 64 << 10, Inline: 64 << 10}

// strict are those of one that has not.
var strict = &Limits{Args: 1 << 20, Arg: 64 << 10, Inline: 64 << 10, Strict: 16 << 10}

func texts(args [][]byte) []string {
	list := []string{}
	for _, a := range args {
		list = append(list, string(a))
	}
	return list
}

func TestNext_ReadsCommands(t *testing.T) {
	tests := []struct {
		in   string
		args []string
		n    int
	}{
		{"*2\r\n$3\r\nGET\r\n$8\r\ndepts:10\r\n*1\r\n", []string{"GET", "depts:10"}, 27},
		{"*1\r\n$0\r\n\r\n", []string{""}, 10},
		{"*1\r\n$12\r\nabcdefghijkl\r\n", []string{"abcdefghijkl"}, 23},
		{"*1\r\n$4\r\n\r\n\x00\xff\r\n", []string{"\r\n\x00\xff"}, 14},
		{"*0\r\n", []string{}, 4},
		{"*-1\r\n", []string{}, 5},
		{"PING\r\n", []string{"PING"}, 6},
		{"PING\n", []string{"PING"}, 5},
		{"\r\n", []string{}, 2},
		{"  get   a\tb \r\n", []string{"get", "a", "b"}, 14},
		{`set k "a b\n\x41\"\q" 'it\'s \n'` + "\r\n",
			[]string{"set", "k", "a b\nA\"q", `it's \n`}, 34},
		{`a"b"` + "\n", []string{"ab"}, 5},
		{`""` + "\n", []string{""}, 3},
	}
	for _, tt := range tests {
		args, n, _, err := Next([]byte(tt.in), nil, known)
		if err != nil || n != tt.n || !cmp.Equal(texts(args), tt.args) {
			t.Errorf("%q: %q of %d bytes, %v; want %q of %d", tt.in, args, n, err, tt.args, tt.n)
		}
		whole := []byte(tt.in)[:tt.n]
		for cut := range whole {
			_, n, want, err := Next(whole[:cut], nil, known)
			if n != 0 || err != nil || want <= cut || want > len(whole) {
				t.Errorf("%q, its first %d bytes: n=%d want=%d, %v", tt.in, cut, n, want, err)
			}
		}
	}
}

func TestNext_RefusesWhatIsNoCommand(t *testing.T) {
	long := strings.Repeat("x", 64<<10+1)
	tests := []struct {
		in   string
		l    *Limits
		want string
	}{
		{"*x\r\n", known, "invalid multibulk length"},
		{"*+1\r\n", known, "invalid multibulk length"},
		{"*01\r\n", known, "invalid multibulk length"},
		{"*1048577\r\n", known, "invalid multibulk length"},
		{"*99999999999999999999\r\n", known, "invalid multibulk length"},
		{"*" + long, known, "too big mbulk count string"},
		{"*11\r\n", strict, "unauthenticated multibulk length"},
		{"*1\r\nGET\r\n", known, "expected '$', got 'G'"},
		{"*1\r\n\x01\r\n", known, "expected '$', got '?'"},
		{"*1\r\n$-1\r\n", known, "invalid bulk length"},
		{"*1\r\n$65537\r\n", known, "invalid bulk length"},
		{"*1\r\n$\r\n", known, "invalid bulk length"},
		{"*1\r\n$16385\r\n", strict, "unauthenticated bulk length"},
		{"*1\r\n$" + long, known, "too big bulk count string"},
		{long, known, "too big inline request"},
		{long + "\n", known, "too big inline request"},
		{"get \"a\r\n", known, "unbalanced quotes in request"},
		{"get 'a'b\r\n", known, "unbalanced quotes in request"},
	}
	for _, tt := range tests {
		_, n, _, err := Next([]byte(tt.in), nil, tt.l)
		if err == nil || n != 0 || err.Error() != "Protocol error: "+tt.want {
			t.Errorf("%.40q: n=%d, %v; want %s", tt.in, n, err, tt.want)
		}
	}
}

func TestNext_ArgumentsCannotGrowIntoTheInput(t *testing.T) {
	in := []byte("*2\r\n$1\r\na\r\n$1\r\nb\r\nget x\r\n")
	kept := bytes.Clone(in)
	args, n, _, _ := Next(in, nil, known)
	more, _, _, _ := Next(in[n:], nil, known)
	for _, a := range append(args, more...) {
		_ = append(a, "overwritten"...)
	}
	if !bytes.Equal(in, kept) {
		t.Errorf("the input has become %q", in)
	}
}

func TestNext_AllocatesNothing(t *testing.T) {
	in := []byte("*2\r\n$3\r\nGET\r\n$8\r\ndepts:10\r\n")
	room := make([][]byte, 0, 8)
	if n := testing.AllocsPerRun(100, func() { _, _, _, _ = Next(in, room, known) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppend_WritesReplies(t *testing.T) {
	both := func(f func(v Version, b []byte) []byte) string {
		return string(f(V2, nil)) + "|" + string(f(V3, nil))
	}
	tests := []struct{ got, want string }{
		{string(AppendSimple(nil, "OK")), "+OK\r\n"},
		{string(AppendInt(nil, -2)), ":-2\r\n"},
		{string(AppendInt(nil, 1234567)), ":1234567\r\n"},
		{string(AppendBulk(nil, []byte("a\r\nb"))), "$4\r\na\r\nb\r\n"},
		{string(AppendText(nil, "")), "$0\r\n\r\n"},
		{string(AppendArray(nil, 12)), "*12\r\n"},
		{string(AppendError(nil, "ERR a\r\nb\x7f")), "-ERR a  b \r\n"},
		{both(Version.AppendNil), "$-1\r\n|_\r\n"},
		{both(func(v Version, b []byte) []byte { return v.AppendVerbatim(b, []byte("a")) }),
			"$1\r\na\r\n|=5\r\ntxt:a\r\n"},
		{both(func(v Version, b []byte) []byte { return v.AppendMap(b, 2) }), "*4\r\n|%2\r\n"},
		{both(func(v Version, b []byte) []byte { return v.AppendSet(b, 2) }), "*2\r\n|~2\r\n"},
		{both(func(v Version, b []byte) []byte { return v.AppendPush(b, 2) }), "*2\r\n|>2\r\n"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
	long := AppendError(nil, "ERR "+strings.Repeat("ü", MaxError))
	if len(long) > MaxError+3 || !strings.HasSuffix(string(long), "ü\r\n") {
		t.Errorf("a long error has %d bytes and ends with %q", len(long), long[len(long)-4:])
	}
}

func TestParseInt_TakesWhatRedisTakes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "-7": -7,
		"9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63} {
		if v, ok := ParseInt([]byte(text)); !ok || v != want {
			t.Errorf("%s = %d, %v", text, v, ok)
		}
	}
	for _, text := range []string{"", "-", "-0", "00", "+1", " 1", "1 ", "1a", "9223372036854775808",
		"-9223372036854775809", "99999999999999999999"} {
		if v, ok := ParseInt([]byte(text)); ok {
			t.Errorf("%q = %d", text, v)
		}
	}
}

// TestGet_IsWhatNextReads: the short way and the long one read the same commands, cut
// anywhere.
func TestGet_IsWhatNextReads(t *testing.T) {
	for size := range 120 {
		in := AppendBulk(AppendBulk(AppendArray(nil, 2), []byte("gEt")), bytes.Repeat([]byte("k"), size))
		for cut := range in {
			if _, n := Get(in[:cut]); n != 0 {
				t.Fatalf("%q is read as a whole", in[:cut])
			}
		}
		key, n := Get(append(in, "PING\r\n"...))
		if short := size > 0 && size < 100; short != (n == len(in)) || len(key) != n/len(in)*size {
			t.Errorf("%d bytes: key %q, %d", size, key, n)
		}
	}
	for _, in := range []string{"", "*2\r\n$3\r\nSET\r\n$1\r\nk\r\n", "*3\r\n$3\r\nGET\r\n$1\r\nk\r\n",
		"*2\r\n$3\r\nGET\r\n$/\r\n1\r\n1\r\n", "*2\r\n$3\r\nGET\r\n$-1\r\nk\r\n", "*2\r\n$3\r\nGET\r\n$01\r\nk\r\n",
		"*2\r\n$3\r\nGET\r\n$1x\r\nk\r\n\r\n"} {
		if key, n := Get([]byte(in)); n != 0 {
			t.Errorf("Get(%q) = %q, %d", in, key, n)
		}
	}
}

// FuzzNext: what was written is read back however it is cut, nothing is read beyond the
// command, and any other input is a command, unfinished or an error.
func FuzzNext(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$8\r\ndepts:10\r\n"), 5)
	f.Add([]byte("get 'a b' \"\\x41\"\r\nPING\r\n"), 3)
	f.Add([]byte("*3\r\n$3\r\nSET\r\n$1\r\n"), 9)
	f.Add([]byte("*-1\r\n*0\r\n\r\n$"), 0)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		for rest := in; ; {
			args, n, want, err := Next(rest, nil, known)
			if n < 0 || n > len(rest) || err != nil && n != 0 || n == 0 && err == nil && want <= len(rest) {
				t.Fatalf("%q: n=%d want=%d, %v", rest, n, want, err)
			}
			key, used := Get(rest)
			if used != 0 && (used != n || len(args) != 2 || !bytes.EqualFold(args[0], []byte("get")) ||
				!bytes.Equal(args[1], key)) {
				t.Fatalf("Get(%q) = %q, %d, where Next reads %q, %d", rest, key, used, args, n)
			}
			if n == 0 {
				return
			}
			if part := rest[:min(max(cut, 0), n-1)]; len(part) < n {
				if _, m, _, err := Next(part, nil, known); m != 0 && rest[0] == '*' || err != nil {
					t.Fatalf("%q is read as a whole: %d, %v", part, m, err)
				}
			}
			again := AppendArray(nil, len(args))
			for _, a := range args {
				again = AppendBulk(again, a)
			}
			list, m, _, err := Next(again, nil, known)
			if err != nil || m != len(again) || !cmp.Equal(texts(list), texts(args)) {
				t.Fatalf("%q is %q, written and read again %q, %v", rest[:n], args, list, err)
			}
			rest = rest[n:]
		}
	})
}
