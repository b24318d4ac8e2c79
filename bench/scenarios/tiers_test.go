package scenarios

import (
	"encoding/json"
	"path/filepath"

	"github.com/hotrow/hotrow/bench/tiers"

	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/load"
)

// serveTiers fills a file and serves it, and returns the URL.
func serveTiers(t *testing.T, documents int64) string {
	t.Helper()
	serve := func(o tiers.Order) error {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return tiers.Serve(t.Context(), string(text))
	}
	o := tiers.Order{Documents: documents, Memory: 16 << 20,
		Path: filepath.Join(t.TempDir(), "tiers.db")}
	if err := serve(o); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.Listen, _, err = harness.Loopback(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(o) }()
	t.Cleanup(func() { // the context of the test has ended
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(harness.Patience); ; harness.Wait(t.Context(), time.Millisecond) {
		if ask(t.Context(), "GET", "http://"+o.Listen+"/", nil, new(tiers.State)) == nil {
			return "http://" + o.Listen
		}
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not answer")
		}
	}
}

func TestTiers_ReadWhatIsOrdered(t *testing.T) {
	const documents = 500
	url := serveTiers(t, documents)
	a := &harness.Attempt{Peer: &harness.Server{Base: url, Keys: documents}}
	tests := map[string]struct {
		order       tiers.ReadOrder
		least, most uint64
		missing     bool
	}{
		"each once": {tiers.ReadOrder{Keys: load.Keys{N: documents, Distribution: load.Scan}, Reads: documents,
			Duration: time.Minute, Readers: 5}, documents, documents, false},
		"at a rate": {tiers.ReadOrder{Keys: load.Keys{N: documents}, Rate: 2000, Duration: 100 * time.Millisecond}, 198,
			202,
			false},
		"not there": {tiers.ReadOrder{Keys: load.Keys{First: documents, N: 1}, Reads: 10, Duration: time.Minute,
			Readers: 1},
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
	_, err := readTiers(t.Context(), a, tiers.ReadOrder{Keys: load.Keys{N: -1}, Duration: time.Second})
	if err == nil || !strings.Contains(err.Error(), "-1 keys") {
		t.Errorf("-1 keys: %v", err)
	}
	if err := warmTiers(t.Context(), &harness.Attempt{Peer: &harness.Server{Base: url, Keys: documents, Cold: true}},
		load.Keys{N: documents / 10}); err != nil {
		t.Error(err)
	}
	var state tiers.State
	if err := ask(t.Context(), "GET", url+"/", nil, &state); err != nil || state.Entries != documents ||
		state.FileBytes == 0 || state.Start <= 0 {
		t.Errorf("%+v, %v", state, err)
	}
}
