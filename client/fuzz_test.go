package client

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// FuzzEvents: whatever a stream of events holds, reading it ends, and an event
// of a document has a key.
func FuzzEvents(f *testing.F) {
	f.Add(": hello\n\nid: p1\nevent: put\ndata: {\"key\":\"10\"}\n\n")
	f.Add("event: reset\ndata: {}\nid: p3\n\nevent: delete\r\ndata:{\"key\":1}\n\n")
	f.Add("data\n:\n\n\nevent:put\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := &httpSubscription{
			op: "watch", body: io.NopCloser(strings.NewReader("")), cancel: func() {},
			lines: bufio.NewScanner(strings.NewReader(text)), silent: time.NewTimer(time.Hour),
		}
		defer s.close()
		for range len(text) + 1 {
			e, err := s.next(context.Background())
			if err != nil {
				return
			}
			if e.Kind < Reset && e.Key == "" {
				t.Fatalf("an event of no document: %+v", e)
			}
		}
		t.Fatal("there are more events than bytes")
	})
}

// FuzzPosition: what is taken for a position comes back as it is sent.
func FuzzPosition(f *testing.F) {
	f.Add("hr1.main.7f3a.16b3748; lag=0.004")
	f.Add("hr1..x.zz,")
	f.Fuzz(func(t *testing.T, text string) {
		_, p, ok := parsePosition(text)
		if !ok {
			return
		}
		if _, again, ok := parsePosition(p.text); !ok || again != p {
			t.Errorf("%q is read as %+v, and that as %+v, %v", text, p, again, ok)
		}
		splitPosition(text)
	})
}
