package wirefront

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
)

// A lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// openAccess opens an access log into memory.
func openAccess(t testing.TB, mode accesslog.Mode) (*accesslog.Log, *lockedBuffer) {
	t.Helper()
	out := new(lockedBuffer)
	l, err := accesslog.Open(accesslog.Config{Columns: front.AccessColumns(), Stdout: out},
		accesslog.Settings{Mode: mode, Format: accesslog.JSON, Every: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, out
}

// A logged is what the tests compare of a line.
type logged struct {
	Method, Path, Cache, Resource, Principal string
	Status                                   int
}

func TestAccessLog_HasALineForEachMessage(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		access, out := openAccess(t, accesslog.All)
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Access = access })
		s.tokens.set(map[string]front.Principal{"r": {Name: "reader", Roles: []string{"reader"}}})
		s.dial("").hot("depts", "10")
		p := s.dialAs(gofast.Config{Token: []byte("r"), Name: "tester"})
		p.get(rows.Get{Resource: "depts", Key: "10"})
		p.get(rows.Get{Resource: "depts", Key: "20", Flags: rows.NoCache})
		p.get(rows.Get{Resource: "depts", Key: "10", Format: rows.CBOR})
		p.get(rows.Get{Resource: "nothing", Key: "1"})
		p.get(rows.Get{Resource: "pay", Key: "1", Flags: rows.NoCache})
		for _, m := range []struct {
			id   uint64
			data []byte
		}{
			{rows.IDGetMulti, (&rows.GetMulti{Resource: "depts", Keys: []string{"10", "30"}}).Append(nil)},
			{rows.IDQuery, (&rows.Query{Resource: "depts", Limit: 2}).Append(nil)},
			{rows.IDPatch, (&rows.Write{Resource: "depts", Key: "40", Body: []byte(`{"loc":"K"}`)}).Append(nil)},
			{rows.IDPut, (&rows.Write{Resource: "depts", Key: "40", Body: []byte(`{`)}).Append(nil)},
			{rows.IDInfo, rows.AppendEmpty(nil)}, {99, nil},
		} {
			p.call(m.id, m.data)
		}
		p.event(p.watch(rows.Watch{Resource: "depts", Key: "10"}), rows.Ready)
		want := []logged{
			{"GET", "depts/10", "hit", "depts", "", 0},
			{"GET", "depts/20", "request", "depts", "", 0},
			{"GET", "depts/10", "miss", "depts", "", 0},
			{"GET", "nothing/1", "", "", "", 5},
			{"GET", "pay/1", "request", "pay", "reader", 0},
			{"GETM", "depts/10 30", "", "depts", "reader", 0},
			{"QUERY", "depts", "miss", "depts", "reader", 0},
			{"PATCH", "depts/40", "", "depts", "reader", 0},
			{"PUT", "depts/40", "", "", "reader", 3},
			{"INFO", "", "", "", "reader", 0},
			{"", "", "", "", "reader", 12},
			{"WATCH", "depts/10", "", "", "reader", 0},
		}
		eventually(t, "the lines", func() bool {
			return strings.Count(out.String(), "tester") >= len(want)
		})
		// The lines of a loop and those of the others are not in one order.
		byText := cmpopts.SortSlices(func(a, b logged) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
		if diff := cmp.Diff(want, readLines(t, out.String()), byText); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, out)
		}
	})
}

// readLines reads the tester's lines of an access log.
func readLines(t *testing.T, text string) (list []logged) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		var l struct {
			logged
			Duration   float64
			RemoteAddr string `json:"remote_addr"`
			UserAgent  string `json:"user_agent"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.UserAgent != "tester" {
			continue
		}
		if !strings.HasPrefix(l.RemoteAddr, "127.0.0.1:") || l.Duration < 0 {
			t.Errorf("line %s", lines.Text())
		}
		list = append(list, l.logged)
	}
	return list
}

// TestAccessLog_HitAllocatesNothing: nor does it when all of them are logged.
func TestAccessLog_HitAllocatesNothing(t *testing.T) {
	access, _ := openAccess(t, accesslog.All)
	set, _ := openSet(t)
	f := New(Options{Resources: set, Access: access})
	defer f.Close()
	warm(t, f, "depts", "10")
	s := newStepper(t, f)
	const burst = 100
	in := s.gets(burst, rows.Get{Resource: "depts", Key: "10"})
	out := make([]byte, 0, 64<<10)
	c := s.conn.Data.(*conn)
	c.addr = "127.0.0.1:1"
	n := testing.AllocsPerRun(50, func() {
		s.conn.Scope().(*scope).BeginTurn(time.Now())
		used, _, _ := f.Step(s.conn, in, out[:0])
		if used != len(in) {
			t.Fatalf("%d of %d bytes used", used, len(in))
		}
	})
	// The feed and the log's writer allocate meanwhile; a hit that did would
	// make a hundred.
	if n > burst/2 {
		t.Errorf("%v allocations for %d hits", n, burst)
	}
}
