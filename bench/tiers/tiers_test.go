package tiers

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
)

// openFilled fills a file with documents and opens it in tiers.
func openFilled(t *testing.T, documents int64) *tiers {
	t.Helper()
	o := Order{Path: filepath.Join(t.TempDir(), "tiers.db"), Documents: documents, Memory: 16 << 20}
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

func TestFillTiers_LeavesNoPart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := Order{Path: filepath.Join(t.TempDir(), "tiers.db"), Documents: tiersBatch}
	if err := fillTiers(ctx, o); err == nil {
		t.Error("a filling that was ended is not an error")
	}
	if _, err := openTiers(o); err == nil {
		t.Error("a file that was not filled is opened")
	}
}
