package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A dept is a document of tests.
type dept struct {
	Number   int     `json:"deptNumber"`
	Name     string  `json:"deptName"`
	Location *string `json:"deptLocation"`
}

func TestGet_DecodesIntoStructsAndMaps(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		for _, f := range []Format{JSON, MessagePack, CBOR} {
			c := open(t, url, WithFormat(f))
			doc, err := c.Get(within(t), "depts", "10")
			if err != nil {
				t.Fatal(err)
			}
			var d dept
			if err := doc.Decode(&d); err != nil || d.Number != 10 || d.Name != "ACCOUNTING" ||
				d.Location == nil || *d.Location != "NEW YORK" {
				t.Errorf("%v: decoded %+v, %v", f, d, err)
			}
			var m map[string]any
			if err := doc.Decode(&m); err != nil || m["deptName"] != "ACCOUNTING" {
				t.Errorf("%v: decoded %v, %v", f, m, err)
			}
			if doc.ETag == "" || doc.Position == "" || doc.Format != f {
				t.Errorf("%v: the document has no tag or position: %+v", f, doc)
			}
		}
	})
}

func TestGet_TellsErrorsApart(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c, boss := open(t, url), open(t, url, WithToken(secret))
		for _, tt := range []struct {
			c             *Client
			resource, key string
			want          error
		}{
			{c, "depts", "99", ErrNotFound},
			{c, "nothing", "1", ErrNotFound},
			{c, "depts", "x", ErrInvalid},
			{c, "pay", "1", ErrUnauthorized},
			{boss, "pay", "1", nil},
		} {
			_, err := tt.c.Get(within(t), tt.resource, tt.key)
			if !errors.Is(err, tt.want) {
				t.Errorf("get %s/%s: %v, want %v", tt.resource, tt.key, err, tt.want)
			}
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Op != "get "+tt.resource+"/"+tt.key) {
				t.Errorf("get %s/%s: the error does not say what failed: %v", tt.resource, tt.key, err)
			}
		}
	})
}

func TestGet_Conditions(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c := open(t, url)
		ctx := within(t)
		doc, err := c.Get(ctx, "depts", "20")
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Get(ctx, "depts", "20", IfNoneMatch(doc.ETag))
		if err != nil || !again.NotModified || len(again.Body) > 0 {
			t.Errorf("if-none-match: %+v, %v", again, err)
		}
		if _, err := c.Get(ctx, "depts", "40", OnlyIfCached()); !errors.Is(err, ErrNotCached) {
			t.Errorf("only-if-cached of what is not: %v", err)
		}
		now, err := c.Get(ctx, "depts", "20", NoCache())
		if err != nil || now.Origin != FromDatabase {
			t.Errorf("no-cache: %+v, %v", now, err)
		}
		kept, err := c.Get(ctx, "depts", "20", MaxAge(time.Hour))
		if err != nil || kept.Origin != FromMemory {
			t.Errorf("max-age: %+v, %v", kept, err)
		}
	})
}

func TestGet_CompositeKeys(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c := open(t, url)
		for _, parts := range [][]string{{"Tulsa", "OK"}, {"a,b", "c%d"}} {
			doc, err := c.Get(within(t), "cities", JoinKey(parts...))
			var m map[string]any
			if err == nil {
				err = doc.Decode(&m)
			}
			if err != nil || m["city"] != parts[0] {
				t.Errorf("get %q: %v, %v", parts, m, err)
			}
			if back := SplitKey(JoinKey(parts...)); !slices.Equal(back, parts) {
				t.Errorf("the key %q comes back as %q", parts, back)
			}
		}
	})
}

func TestGetMany_KeepsTheOrder(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c := open(t, url)
		docs, err := c.GetMany(within(t), "depts", []string{"30", "99", "10"})
		if err != nil || len(docs) != 3 {
			t.Fatalf("%d documents, %v", len(docs), err)
		}
		var got []string
		for i := range docs {
			var d dept
			if docs[i].Missing {
				got = append(got, "-")
				if err := docs[i].Decode(&d); !errors.Is(err, ErrNotFound) {
					t.Errorf("decode of a missing document: %v", err)
				}
				continue
			}
			if err := docs[i].Decode(&d); err != nil {
				t.Error(err)
			}
			got = append(got, d.Name)
		}
		if diff := cmp.Diff([]string{"SALES", "-", "ACCOUNTING"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestList_Pages(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		for _, f := range []Format{JSON, MessagePack, CBOR} {
			c := open(t, url, WithFormat(f))
			var got []int
			o := ListOptions{Limit: 3}
			for range 3 {
				page, err := c.List(within(t), "depts", o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range page.Documents {
					var d dept
					if err := page.Documents[i].Decode(&d); err != nil {
						t.Error(err)
					}
					got = append(got, d.Number)
				}
				if o.After = page.Next; page.Next == "" {
					break
				}
			}
			if diff := cmp.Diff([]int{10, 20, 30, 40}, got); diff != "" {
				t.Errorf("%v: %s", f, diff)
			}
		}
	})
}

func TestQuery_Pages(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		for _, f := range []Format{JSON, MessagePack, CBOR} {
			c := open(t, url, WithFormat(f))
			for query, want := range map[string][]int{
				"deptNumber=gt.10&order=deptName.desc&limit=2":                          {30, 20, 40},
				"or=(deptName.eq.SALES,deptLocation.is.null)&limit=1&select=deptNumber": {30, 40},
				"deptNumber=gt.99": nil,
				"limit=3":          {10, 20, 30, 40},
				"":                 {10, 20, 30, 40},
			} {
				var got []int
				for pages := 0; pages == 0 || query != ""; pages++ {
					page, err := c.Query(within(t), "depts", query)
					if err != nil || pages > 5 {
						t.Fatalf("%s: %v", query, err)
					}
					for i := range page.Documents {
						var d dept
						if err := page.Documents[i].Decode(&d); err != nil {
							t.Error(err)
						}
						got = append(got, d.Number)
					}
					query = page.Next
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v: %s", f, diff)
				}
			}
			for _, query := range []string{"nope=eq.1", "deptNumber=eq.x", "format=cbor",
				"deptNumber=eq.10&format=json"} {
				if _, err := c.Query(within(t), "depts", query); !errors.Is(err, ErrInvalid) {
					t.Errorf("%s: %v", query, err)
				}
			}
		}
	})
}

// What others have asked for comes from the server's memory.
func TestQuery_ComesFromMemory(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c := open(t, url)
		poll(t, "memory has it", func() bool {
			page, err := c.Query(within(t), "depts", "deptName=eq.RESEARCH")
			if err != nil || len(page.Documents) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			d := page.Documents[0]
			return d.Origin == FromMemory && d.Position != ""
		})
	})
}

func TestWrite_IsSeenByTheNextRead(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		for _, f := range []Format{JSON, MessagePack, CBOR} {
			c := open(t, url, WithFormat(f))
			ctx := within(t)
			d := dept{Number: 50, Name: "NEW " + f.String() + url[:4]}
			doc, err := c.Put(ctx, "depts", "50", d, IfAbsent())
			if err != nil || !doc.Created {
				t.Fatalf("put: %+v, %v", doc, err)
			}
			if _, err := c.Put(ctx, "depts", "50", d, IfAbsent()); !errors.Is(err, ErrPrecondition) {
				t.Errorf("a second creation: %v", err)
			}
			patch := map[string]any{"deptLocation": "HERE"}
			if doc, err = c.Patch(ctx, "depts", "50", patch, IfMatch(doc.ETag)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Patch(ctx, "depts", "50", patch, IfMatch(`"other"`)); !errors.Is(err,
				ErrPrecondition) {
				t.Errorf("a patch of another document: %v", err)
			}
			got, err := c.Get(ctx, "depts", "50")
			if err != nil {
				t.Fatal(err)
			}
			var back dept
			if err := got.Decode(&back); err != nil || back.Location == nil || *back.Location != "HERE" {
				t.Errorf("read after the writes: %+v, %v", back, err)
			}
			if c.Position() == "" {
				t.Error("the client does not know the position of its writes")
			}
			if _, err := c.Delete(ctx, "depts", "50"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Get(ctx, "depts", "50"); !errors.Is(err, ErrNotFound) {
				t.Errorf("get after delete: %v", err)
			}
			if _, err := c.Delete(ctx, "depts", "50"); !errors.Is(err, ErrNotFound) {
				t.Errorf("a second delete: %v", err)
			}
			_, err = c.Put(ctx, "depts", "51", dept{Number: 51, Name: "SALES"})
			if !errors.Is(err, ErrConflict) {
				t.Errorf("a name that is taken: %v", err)
			}
		}
	})
}

func TestInfo_ListsResources(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		info, err := open(t, url).Info(within(t))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range info.Resources {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"cities", "depts"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOpen_RefusesWhatItCannotReach(t *testing.T) {
	for _, url := range []string{"", "ftp://x", "hotrow://", "hotrow://h/path", "http://", "::"} {
		if c, err := Open(url); err == nil {
			t.Errorf("Open(%q) has worked", url)
			_ = c.Close()
		}
	}
}

// TestUnavailable_IsToldSoon: nobody listens, and the call does not hang.
func TestUnavailable_IsToldSoon(t *testing.T) {
	l := listen(t)
	address := l.Addr().String()
	_ = l.Close()
	for _, url := range []string{"hotrow://" + address, "http://" + address} {
		c := open(t, url)
		_, err := c.Get(within(t), "depts", "10")
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", url, err)
		}
		// Nothing was sent, so that the outcome of a write is known.
		if _, err := c.Put(within(t), "depts", "10", map[string]any{}); !errors.Is(err,
			ErrUnavailable) {
			t.Errorf("%s: put: %v", url, err)
		}
	}
}

// TestDeadline_IsKept over a server that accepts and says nothing.
func TestDeadline_IsKept(t *testing.T) {
	l := listen(t)
	defer func() { _ = l.Close() }()
	for _, url := range []string{"hotrow://" + l.Addr().String(), "http://" + l.Addr().String()} {
		c := open(t, url)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		begin := time.Now()
		_, err := c.Get(ctx, "depts", "10")
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > limit/2 {
			t.Errorf("%s: %v after %v", url, err, time.Since(begin))
		}
	}
}

func TestClosed_IsTold(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		c := open(t, url)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(within(t), "depts", "10"); !errors.Is(err, ErrClosed) {
			t.Errorf("get after close: %v", err)
		}
	})
}

// TestRetryAfter_IsRead from a server that is overloaded.
func TestRetryAfter_IsRead(t *testing.T) {
	l := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"type":"/-/problems/database-unavailable","detail":"away",` +
				`"code":"HR503","hint":"try again later"}`))
		})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	defer func() {
		_ = server.Close()
		<-done
	}()
	c := open(t, "http://"+l.Addr().String(), WithRetries(0))
	_, err := c.Get(within(t), "depts", "10")
	var e *Error
	if !errors.As(err, &e) || e.Kind != ErrUnavailable || e.RetryAfter != 7*time.Second ||
		e.Code != "HR503" {
		t.Errorf("the error is %#v", err)
	}
}

// TestReconnect_AfterConnectionsAreCut: reads go on without an error that the
// caller sees.
func TestReconnect_AfterConnectionsAreCut(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.wireURL[len("hotrow://"):])
	c := open(t, "hotrow://"+p.address(), WithRetries(10))
	for i := range 20 {
		if _, err := c.Get(within(t), "depts", "10"); err != nil {
			t.Fatalf("get %d: %v", i, err)
		}
		p.cut()
	}
}
