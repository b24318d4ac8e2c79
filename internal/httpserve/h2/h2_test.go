package h2_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// TestH2_AnswersAsHTTP1: whoever answers, from memory, late, asked again, or net/http, and
// with whichever body. All over one connection.
func TestH2_AnswersAsHTTP1(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		c, url := s.client(t), s.url("")
		for _, path := range []string{"/hit/a", "/miss/a", "/again/a", "/full/a", "/hit/70000:a",
			"/miss/500000:a", "/full/3000000:a"} {
			for range 3 {
				if code, body := do(t, c, "GET", url+path, nil); code != 200 || body != bodyOf(path) {
					t.Fatalf("GET %s: %d, %d bytes %.40q", path, code, len(body), body)
				}
			}
		}
		if code, body := do(t, c, "HEAD", url+"/hit/a", nil); code != 200 || body != "" {
			t.Errorf("HEAD: %d %q", code, body)
		}
		if code, _ := do(t, c, "GET", url+"/nothing", nil); code != 404 {
			t.Errorf("GET /nothing: %d", code)
		}
		for _, size := range []int{0, 1, 65535, 65536, 5_000_000} {
			b := bytes.Repeat([]byte("hotrow-"), size/7+1)[:size]
			want := fmt.Sprintf("%d %08x", size, crc32.ChecksumIEEE(b))
			if _, got := do(t, c, "POST", url+"/put", bytes.NewReader(b)); got != want {
				t.Errorf("POST of %d bytes: %q, want %q", size, got, want)
			}
			// Without content-length.
			if _, got := do(t, c, "POST", url+"/put", io.MultiReader(bytes.NewReader(b))); got != want {
				t.Errorf("POST of %d bytes, length unknown: %q, want %q", size, got, want)
			}
			if _, got := do(t, c, "POST", url+"/unread", bytes.NewReader(b)); got != "unread" {
				t.Errorf("POST of %d bytes that nobody reads: %q", size, got)
			}
		}
		if n := s.server.Stats(); n.Accepted != 1 || n.Panics != 0 {
			t.Errorf("%+v, want one connection", n)
		}
	})
}

// TestH2_RequestsAreWhole: what HTTP/1.1 says otherwise.
func TestH2_RequestsAreWhole(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		p.ask(1, "DELETE", "/head/x?a=%20b", true, "cookie", "a=1", "cookie", "b=2", "te", "trailers")
		p.want(1, "200", fmt.Sprintf(`DELETE localhost /head/x?a=%%20b HTTP/2.0 ["a=1; b=2"] %t`, s.trust != nil))
		p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, EndHeaders: true, EndStream: true,
			BlockFragment: p.fields(":method", "GET", ":scheme", "https", ":path", "/head",
				"host", "other.example")}))
		p.want(3, "200", fmt.Sprintf("GET other.example /head HTTP/2.0 [] %t", s.trust != nil))
		p.ask(5, "POST", "/put", false)
		p.must(p.WriteDataPadded(5, false, []byte("ab"), make([]byte, 20)))
		p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, EndHeaders: true, EndStream: true,
			BlockFragment: p.fields("x-trailer", "1")}))
		p.want(5, "200", fmt.Sprintf("2 %08x", crc32.ChecksumIEEE([]byte("ab"))))
	})
}

// TestH2_TrailersOfCutStreamsAreIgnored: they were on their way when the stream was ended
// here, and are part of the decoder's state.
func TestH2_TrailersOfCutStreamsAreIgnored(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		trailers := func(id uint32, value string) {
			p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: true,
				BlockFragment: p.fields("x-trailer", value)}))
		}
		p.ask(1, "POST", "/unread", false, "content-length", "1000000")
		p.must(p.WriteData(1, false, []byte("abc")))
		p.want(1, "200", "unread")
		if h := p.hear(1, true); h.reset != http2.ErrCodeNo {
			t.Fatalf("behind the answer: %+v", h)
		}
		trailers(1, "a")
		p.ask(3, "POST", "/put", false, "Upper", "1")
		if h := p.hear(3, true); h.reset != http2.ErrCodeProtocol {
			t.Fatalf("a malformed request: %+v", h)
		}
		trailers(3, "b")
		p.ask(5, "GET", "/hit/a", true, "x-trailer", "b")
		p.want(5, "200", "/hit/a")
		trailers(5, "c") // this one had ended
		if h := p.hear(5, true); h.goAway != http2.ErrCodeStreamClosed {
			t.Errorf("fields behind the end: %+v", h)
		}
	})
}

// TestH2_StreamsAreSideBySide: a slow answer keeps no other.
func TestH2_StreamsAreSideBySide(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		p.ask(1, "GET", "/slow", true)
		<-s.entered
		p.ask(3, "GET", "/hit/a", true)
		p.want(3, "200", "/hit/a")
		p.ask(5, "GET", "/full/a", true)
		p.want(5, "200", "/full/a")
		close(s.release)
		p.want(1, "200", "slow")
	})
}

// TestH2_RefusesMalformedRequests: requests that are malformed, each of which ends its stream alone.
func TestH2_RefusesMalformedRequests(t *testing.T) {
	pseudo := func(method, path string) []string {
		return []string{":method", method, ":scheme", "https", ":authority", "localhost", ":path", path}
	}
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		id := uint32(1)
		for name, fields := range map[string][]string{
			"no path":              {":method", "GET", ":scheme", "https", ":authority", "localhost"},
			"no method":            {":scheme", "https", ":authority", "localhost", ":path", "/hit/a"},
			"no authority":         {":method", "GET", ":scheme", "https", ":path", "/hit/a"},
			"upper case":           append(pseudo("GET", "/hit/a"), "X-Upper", "1"),
			"line end in a value":  append(pseudo("GET", "/hit/a"), "x", "1\r\nhost: evil"),
			"line end in a name":   append(pseudo("GET", "/hit/a"), "x\r\n", "1"),
			"blank in the path":    pseudo("GET", "/hit/a HTTP/1.1\r\nHost: evil\r\n\r\n"),
			"blank in the method":  pseudo("GET /evil", "/hit/a"),
			"blank in authority":   {":method", "GET", ":scheme", "https", ":authority", "a b", ":path", "/hit/a"},
			"path without /":       pseudo("GET", "hit/a"),
			"repeated pseudo":      append(pseudo("GET", "/hit/a"), ":path", "/hit/b"),
			"pseudo behind others": {":method", "GET", ":scheme", "https", "x", "1", ":path", "/hit/a"},
			"unknown pseudo":       append(pseudo("GET", "/hit/a"), ":status", "200"),
			"connection":           append(pseudo("GET", "/hit/a"), "connection", "close"),
			"transfer-encoding":    append(pseudo("GET", "/hit/a"), "transfer-encoding", "chunked"),
			"te":                   append(pseudo("GET", "/hit/a"), "te", "gzip"),
			"two hosts":            append(pseudo("GET", "/hit/a"), "host", "evil.example"),
			"length of no body":    append(pseudo("POST", "/put"), "content-length", "5"),
			"two lengths":          append(pseudo("POST", "/put"), "content-length", "0", "content-length", "1"),
			"signed length":        append(pseudo("POST", "/put"), "content-length", "+0"),
		} {
			p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: true,
				BlockFragment: p.fields(fields...)}))
			if h := p.hear(id, true); h.reset != http2.ErrCodeProtocol {
				t.Errorf("%s: %+v", name, h)
			}
			id += 2
		}
		p.ask(id, "POST", "/put", false, "content-length", "3")
		p.must(p.WriteData(id, true, []byte("four")))
		if h := p.hear(id, true); h.reset != http2.ErrCodeProtocol {
			t.Errorf("a longer body: %+v", h)
		}
		id += 2
		for _, size := range []int{100, 9000} { // of two fields
			p.ask(id, "GET", "/hit/a", true, "x", strings.Repeat("x", size), "y", strings.Repeat("y", size))
			want := map[int]string{100: "200", 9000: "431"}[size]
			if h := p.hear(id, true); h.status != want {
				t.Errorf("two fields of %d bytes: %+v, want %s", size, h, want)
			}
			id += 2
		}
	})
}

// TestH2_AmendsItsOwnAnswers: what the protocol of HTTP/1.1 has not made is sent as the server says.
func TestH2_AmendsItsOwnAnswers(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.two.Amend = func(answer []byte) []byte {
			return bytes.Replace(answer, []byte("431"), []byte("418"), 1)
		}
		p := s.dial(t)
		p.ask(1, "GET", "/hit/a", true, "x", strings.Repeat("x", 9000), "y", strings.Repeat("y", 9000))
		if h := p.hear(1, true); h.status != "418" {
			t.Errorf("fields of 18,000 bytes: %+v", h)
		}
	})
}

// TestH2_WindowsAreKept: nothing is sent beyond them, and all that fits.
func TestH2_WindowsAreKept(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for _, path := range []string{"/hit/200000:a", "/miss/200000:a", "/full/200000:a"} {
			p := s.dial(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
			p.ask(1, "GET", path, true)
			got := ""
			for len(got) < 10 {
				f, err := p.ReadFrame()
				p.must(err)
				if d, ok := f.(*http2.DataFrame); ok {
					got += string(d.Data())
				}
			}
			// Other streams are answered meanwhile, as far as their windows go.
			p.ask(3, "GET", "/hit/b", true)
			p.want(3, "200", "/hit/b")
			if len(got) != 10 {
				t.Fatalf("%s: %d bytes with a window of 10", path, len(got))
			}
			p.must(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
			p.must(p.WriteWindowUpdate(0, 1<<20))
			h := p.hear(1, false)
			if got+h.body != bodyOf(path) {
				t.Errorf("%s: %d bytes, want 200,000", path, len(got)+len(h.body))
			}
		}
	})
}

// TestH2_ResetsEndHandlers, and so does the end of the connection.
func TestH2_ResetsEndHandlers(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		p.ask(1, "GET", "/slow", true)
		<-s.entered
		p.must(p.WriteRSTStream(1, http2.ErrCodeCancel))
		<-s.canceled
		p.ask(3, "GET", "/slow", true)
		<-s.entered
		_ = p.nc.Close()
		<-s.canceled
		eventually(t, "the connection is forgotten", func() bool { return s.server.Stats().Open == 0 })
	})
}

// TestH2_CutAnswersAreReset: an answer that its handler does not finish is no whole one.
func TestH2_CutAnswersAreReset(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		p.ask(1, "GET", "/panic", true)
		if h := p.hear(1, true); h.reset != http2.ErrCodeInternal || h.body != "beg" {
			t.Errorf("%+v", h)
		}
		p.ask(3, "GET", "/hit/a", true)
		p.want(3, "200", "/hit/a")
	})
}

// TestH2_ShutdownFinishesWhatWasBegun and says that the connection ends.
func TestH2_ShutdownFinishesWhatWasBegun(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p, idle := s.dial(t), s.dial(t)
		p.ask(1, "GET", "/slow", true)
		<-s.entered
		idle.ask(1, "GET", "/hit/a", true)
		idle.want(1, "200", "/hit/a")
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
			defer cancel()
			done <- s.stop(ctx)
		}()
		if h := idle.hear(3, true); h.goAway != http2.ErrCodeNo || !h.closed {
			t.Errorf("an idle connection: %+v", h)
		}
		close(s.release)
		h := p.hear(1, true)
		if h.status != "200" || h.body != "slow" || h.goAway != http2.ErrCodeNo {
			t.Errorf("the answer that was begun: %+v", h)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestH2_ShutdownWaitsForHandlersAlone: a handler that ends behind its answer, and then the
// connection ends without a word of its client.
func TestH2_ShutdownWaitsForHandlersAlone(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p, idle := s.dial(t), s.dial(t)
		idle.ask(1, "GET", "/hit/a", true)
		idle.want(1, "200", "/hit/a")
		p.ask(1, "GET", "/tail", true)
		if h := p.hear(1, false); h.body != "/tail" {
			t.Fatalf("%+v", h)
		}
		<-s.entered
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeLimit/2)
			defer cancel()
			done <- s.stop(ctx)
		}()
		idle.hear(3, true) // until what is idle is closed
		close(s.release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestH2_ManyClientsAtOnce: every answer is that of its own request.
func TestH2_ManyClientsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				c := s.client(t)
				var some sync.WaitGroup
				for m := range 10 {
					some.Go(func() { askMany(t, c, s.url(""), fmt.Sprint(n, "-", m)) })
				}
				some.Wait()
			})
		}
		all.Wait()
	})
}

func askMany(t *testing.T, c *http.Client, url, name string) {
	kinds := []string{"hit", "miss", "again", "full", "put"}
	for i := range 30 {
		kind := kinds[i%len(kinds)]
		path := fmt.Sprintf("/%s/%d:%s-%d", kind, 100+i*i*37, name, i)
		if kind == "put" {
			want := fmt.Sprintf("%d %08x", len(path), crc32.ChecksumIEEE([]byte(path)))
			if _, got := do(t, c, "POST", url+"/put", strings.NewReader(path)); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
			continue
		}
		if _, got := do(t, c, "GET", url+path, nil); got != bodyOf(path) {
			t.Errorf("%s: %.60q", path, got)
		}
	}
}

// TestH2_TimeoutsAreTold: the last word says which request was the last to be begun, whether
// nothing has come in time or a part of a frame.
func TestH2_TimeoutsAreTold(t *testing.T) {
	for form, c := range forms {
		for what, part := range map[string][]byte{"idle": nil, "part": {0, 0, 9, 1, 5}} {
			t.Run("form="+form+"/"+what, func(t *testing.T) {
				c := c
				if c.Header, c.Idle = time.Minute, 200*time.Millisecond; part != nil {
					c.Header, c.Idle = c.Idle, c.Header
				}
				s := open(t, c)
				p := s.dial(t)
				p.ask(1, "GET", "/hit/a", true)
				p.want(1, "200", "/hit/a")
				if _, err := p.nc.Write(part); err != nil {
					t.Fatal(err)
				}
				told := false
				for {
					f, err := p.ReadFrame()
					if err != nil {
						if !told || !errors.Is(err, io.EOF) {
							t.Errorf("the end: %v; told of before: %t", err, told)
						}
						break
					}
					if f, ok := f.(*http2.GoAwayFrame); ok {
						told = true
						if f.LastStreamID != 1 || f.ErrCode != http2.ErrCodeNo {
							t.Errorf("GOAWAY of stream %d, %v", f.LastStreamID, f.ErrCode)
						}
						// What its client has sent in the meantime does no harm.
						_, _ = p.nc.Write(make([]byte, 100))
					}
				}
				if n := s.server.Stats(); n.TimedOut != 1 {
					t.Errorf("%d timed out", n.TimedOut)
				}
			})
		}
	}
}
