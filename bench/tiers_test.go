package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

// openFilled fills a file with documents and opens it in tiers.
func openFilled(t *testing.T, documents int64) *tiers {
	t.Helper()
	o := tiersOrder{Path: filepath.Join(t.TempDir(), "tiers.db"), Documents: documents, Memory: 16 << 20}
	if err := fillTiers(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	got, err := openTiers(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := got.disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return got
}

func TestTiers_HaveEveryDocument(t *testing.T) {
	const documents = 2000
	tr := openFilled(t, documents)
	for n := range int64(documents) {
		doc, from := tr.read(n)
		if from == fromNowhere || !bytes.Equal(doc.Body(), appendTiersBody(nil, n)) {
			t.Fatalf("document %d: from %d", n, from)
		}
	}
	if _, from := tr.read(documents); from != fromNowhere {
		t.Errorf("a document that is not there comes from %d", from)
	}
	if _, from := tr.read(documents - 1); from != fromMemory {
		t.Errorf("what was read last comes from %d, want memory", from)
	}
	if n := len(appendTiersBody(nil, 7)); n != tiersBody {
		t.Errorf("a body of %d bytes, want %d", n, tiersBody)
	}
}

func TestTiers_ReadWhatIsOrdered(t *testing.T) {
	const documents = 500
	tr := openFilled(t, documents)
	s := httptest.NewServer(tr.handler())
	defer s.Close()
	a := &attempt{peer: &running{base: s.URL, keys: documents}}
	tests := map[string]struct {
		order       readOrder
		least, most uint64
		missing     bool
	}{
		"each once": {readOrder{Keys: load.Keys{N: documents, Distribution: load.Scan}, Reads: documents,
			Duration: time.Minute, Readers: 5}, documents, documents, false},
		"at a rate": {readOrder{Keys: load.Keys{N: documents}, Rate: 2000, Duration: 100 * time.Millisecond}, 198, 202,
			false},
		"not there": {readOrder{Keys: load.Keys{First: documents, N: 1}, Reads: 10, Duration: time.Minute, Readers: 1},
			10, 10, true},
	}
	for name, tt := range tests {
		r, err := readTiers(t.Context(), a, tt.order)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Reads < tt.least || r.Reads > tt.most || r.Wrong > 0 || (r.Missing == r.Reads) != tt.missing {
			t.Errorf("%s: %+v", name, r)
		}
	}
	_, err := readTiers(t.Context(), a, readOrder{Keys: load.Keys{N: -1}, Duration: time.Second})
	if err == nil || !strings.Contains(err.Error(), "-1 keys") {
		t.Errorf("-1 keys: %v", err)
	}
	if err := warmTiers(t.Context(), &attempt{peer: &running{base: s.URL, keys: documents, cold: true}},
		load.Keys{N: documents / 10}); err != nil {
		t.Error(err)
	}
	var state tiersState
	if err := ask(t.Context(), "GET", s.URL+"/", nil, &state); err != nil || state.Entries != documents ||
		state.FileBytes == 0 || state.Start <= 0 {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestFillTiers_LeavesNoPart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := tiersOrder{Path: filepath.Join(t.TempDir(), "tiers.db"), Documents: tiersBatch}
	if err := fillTiers(ctx, o); err == nil {
		t.Error("a filling that was ended is no error")
	}
	if _, err := openTiers(o); err == nil {
		t.Error("a file that was not filled is opened")
	}
}

func TestParse_Connections(t *testing.T) {
	o, err := parse([]string{"-connections", "1,128"})
	if err != nil || len(o.at) != 2 || o.at[1] != 128 {
		t.Errorf("%v %v", o, err)
	}
	for _, text := range []string{"", "x", "1,", "0"} {
		if _, err := parse([]string{"-connections", text}); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}
