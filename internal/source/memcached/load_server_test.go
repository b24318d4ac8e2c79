package memcached

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestMemcached_LoadSplitsValues(t *testing.T) {
	p, server := newPlan(t, users)
	tests := []struct{ value, json, msgpack string }{
		{"Alice|alice@example.org", `{"name":"Alice","mail":"alice@example.org"}`, "Alice"},
		{"Zoë|日本", `{"name":"Zoë","mail":"日本"}`, "日本"},
		{"|", `{"name":"","mail":""}`, ""},
		{"", `{"name":"","mail":null}`, ""},
		{"Bob", `{"name":"Bob","mail":null}`, "Bob"},
		{"a|b|c|d", `{"name":"a","mail":"b|c|d"}`, "b|c|d"},
		{"a\r\nEND\r\n|\x00\"", `{"name":"a\r\nEND\r\n","mail":"\u0000\""}`, "END"},
		{"\xff\xfe|\xe9t\xe9", "{\"name\":\"\uFFFD\",\"mail\":\"\uFFFDt\uFFFD\"}", "\uFFFDt"},
	}
	for i, tt := range tests {
		key := fmt.Sprint(i)
		server.Set("user:"+key, tt.value)
		l := mustLoad(t, p, row.Key(key))[0]
		if got := jsonOf(p, l); got != tt.json {
			t.Errorf("%q reads %s, want %s", tt.value, got, tt.json)
		}
		if got := p.Shape().AppendMsgPack(nil, l.Values); !strings.Contains(string(got), tt.msgpack) {
			t.Errorf("%q is %x in MessagePack, want %q in it", tt.value, got, tt.msgpack)
		}
	}
	if got := loadJSON(t, p, "nobody"); got != "absent" {
		t.Errorf("a value that is not there reads %s", got)
	}
}

func TestMemcached_LoadReadsEveryFormat(t *testing.T) {
	server := dbtest.NewMemcached(t)
	s := openSource(t, server.URL(), Options{})
	tests := []struct {
		spec        source.ValueSpec
		value, json string
	}{
		{source.ValueSpec{Format: source.ValueRaw}, "a|b", `{"value":"a|b"}`},
		{source.ValueSpec{Format: source.ValueRaw, Fields: []string{"page"}}, "<p>", `{"page":"<p>"}`},
		{source.ValueSpec{Format: source.ValueBytes}, "\x00\xff|", `{"value":"AP98"}`},
		{source.ValueSpec{Format: source.ValueJSON}, ` [1, {"a":"|"}]`, `{"value":[1, {"a":"|"}]}`},
		{source.ValueSpec{Format: source.ValueJSON, Fields: []string{"a", "b", "c"}},
			`{"b":{"x":[1e400]},"z":1,"a":"|\u00e9","c":null}`,
			`{"a":"|\u00e9","b":{"x":[1e400]},"c":null}`},
		{source.ValueSpec{Format: source.ValueFields, Fields: []string{"a", "b"}, Separator: "::"},
			"x:::y", `{"a":"x","b":":y"}`},
	}
	for i, tt := range tests {
		p := mustCompile(t, s, tt.spec)
		key := fmt.Sprint(i)
		server.Set(key, tt.value)
		if got := loadJSON(t, p, row.Key(key)); got != tt.json {
			t.Errorf("%s %q reads %s, want %s", tt.spec.Format, tt.value, got, tt.json)
		}
	}
	object := mustCompile(t, s, source.ValueSpec{Format: source.ValueJSON, Fields: []string{"a"}})
	whole := mustCompile(t, s, source.ValueSpec{Format: source.ValueJSON})
	for _, value := range []string{"", "{", "1 2", "\"\xff\"", "{\"a\":\"\xff\"}"} {
		server.Set("bad", value)
		for _, p := range []*plan{object, whole} {
			_, err := p.Load(t.Context(), []row.Key{"bad"})
			if source.ClassOf(err) != source.Internal || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%q as JSON: %v", value, err)
			}
		}
	}
	for _, value := range []string{"null", "[]", "1"} {
		server.Set("bad", value)
		if _, err := object.Load(t.Context(), []row.Key{"bad"}); err == nil {
			t.Errorf("%q is taken for an object", value)
		}
	}
}

func TestMemcached_LoadReadsManyKeysInOrder(t *testing.T) {
	p, server := newPlan(t, users)
	var keys []row.Key
	for i := range 3 * keysPerGet {
		key := strings.Repeat("k", 240-len(p.spec.Prefix)) + fmt.Sprint(i)
		if i%3 != 0 {
			server.Set("user:"+key, fmt.Sprint("name", i))
		}
		keys = append(keys, row.Key(key))
	}
	keys = append(keys, keys...)
	for i, l := range mustLoad(t, p, keys...) {
		n := i % (3 * keysPerGet)
		want := fmt.Sprintf(`{"name":"name%d","mail":null}`, n)
		wantKey := keys[i]
		if n%3 == 0 {
			want, wantKey = "absent", ""
		}
		if got := jsonOf(p, l); got != want || l.Asked != keys[i] || l.Key != wantKey {
			t.Errorf("%d: %s, asked %q, key %q, want %s", i, got, l.Asked, l.Key, want)
		}
	}
}

func TestMemcached_LoadTakesAndRefusesKeys(t *testing.T) {
	p, server := newPlan(t, users)
	longest := strings.Repeat("é", (maxKey-len("user:"))/2) + "x"
	server.Set("user:"+longest, "long")
	if got := loadJSON(t, p, row.Key(longest)); got != `{"name":"long","mail":null}` {
		t.Errorf("a key of 250 bytes reads %s", got)
	}
	for _, key := range []row.Key{"", "a b", "a\nb", "a\tb", "a\x00", "\x7f", "\xff",
		row.Key(longest + "x"), "a\r\nflush_all"} {
		_, err := p.Load(t.Context(), []row.Key{"fine", key})
		if !errors.Is(err, row.ErrKey) {
			t.Errorf("key %q: %v", key, err)
		}
		if _, err := tryWrite(t, p, source.OpDelete, key, ""); key != "" && !errors.Is(err, row.ErrKey) {
			t.Errorf("delete of key %q: %v", key, err)
		}
	}
	n := mustCompile(t, p.src, source.ValueSpec{Format: source.ValueRaw, Prefix: "user:",
		KeyKind: row.Int})
	server.Set("user:7", "seven")
	if l := mustLoad(t, n, "007")[0]; l.Key != "7" || l.Asked != "007" || !l.Found() {
		t.Errorf("an integer key reads %+v", l)
	}
}

func TestMemcached_LoadReadsHugeValues(t *testing.T) {
	server := dbtest.NewMemcached(t, "-I", "8m", "-m", "64")
	raw := source.ValueSpec{Format: source.ValueRaw}
	p := mustCompile(t, openSource(t, server.URL(), Options{}), raw)
	huge := strings.Repeat("0123456789abcdef", 7<<16)
	server.Set("huge", huge)
	if l := mustLoad(t, p, "huge")[0]; !l.Found() || l.Values[0].Text() != huge {
		t.Errorf("%d bytes are not what was stored", len(huge))
	}
	small := mustCompile(t, openSource(t, server.URL(), Options{MaxValue: 100}), raw)
	server.Set("small", huge[:100])
	if l := mustLoad(t, small, "small")[0]; !l.Found() {
		t.Error("a value of the largest size is not read")
	}
	_, err := small.Load(t.Context(), []row.Key{"huge"})
	if source.ClassOf(err) != source.Internal || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("a larger one: %v", err)
	}
	if l := mustLoad(t, small, "small")[0]; !l.Found() {
		t.Error("nothing is read after it")
	}
}

// The socket is another program's: it hands on to a server's port.
func TestMemcached_LoadReadsThroughAUnixSocket(t *testing.T) {
	server := dbtest.NewMemcached(t)
	server.Set("k", "v")
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { forward(c, server.Addr()) })
		}
	})
	t.Cleanup(wg.Wait)
	t.Cleanup(func() { _ = ln.Close() })
	for _, url := range []string{"memcached://" + path, "memcached://unix:" + path} {
		p := mustCompile(t, openSource(t, url, Options{}), source.ValueSpec{Format: source.ValueRaw})
		if got := loadJSON(t, p, "k"); got != `{"value":"v"}` {
			t.Errorf("%s reads %s", url, got)
		}
	}
}

// forward copies both ways until one side ends.
func forward(c net.Conn, addr string) {
	defer c.Close()
	up, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer up.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(up, c)
		_ = up.Close()
	}()
	_, _ = io.Copy(c, up)
	_ = c.Close()
	<-done
}

func TestMemcached_LoadByManyAtOnce(t *testing.T) {
	server := dbtest.NewMemcached(t)
	s := openSource(t, server.URL(), Options{MaxConns: 3})
	p := mustCompile(t, s, users)
	for i := range 50 {
		server.Set(fmt.Sprint("user:", i), fmt.Sprint("n", i, "|m"))
	}
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := range 100 {
				n := (i*7 + w) % 50
				loaded, err := p.Load(t.Context(), []row.Key{row.Key(fmt.Sprint(n)), "none"})
				if err != nil {
					t.Error(err)
					return
				}
				want := fmt.Sprintf(`{"name":"n%d","mail":"m"}`, n)
				if got := jsonOf(p, loaded[0]); got != want || loaded[1].Found() {
					t.Errorf("reads %s, want %s; absent is %v", got, want, loaded[1].Found())
				}
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.Max != 3 || st.InUse != 0 || st.Idle == 0 || st.Idle > 3 || st.Acquired != 1600 {
		t.Errorf("stats: %+v", st)
	}
}
