package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// The link that BenchmarkStats asks for.
const (
	busyDays   = 90
	busyHours  = 24 * busyDays
	busyClicks = 10_000_000
)

// packedSketch makes the column hll of so many visitors, as package clicks writes
// it when there are many.
func packedSketch(r *rand.Rand, visitors int) []byte {
	var ranks [4096]byte
	for range visitors {
		h := r.Uint32()
		at := &ranks[h>>20]
		*at = max(*at, byte(min(bits.LeadingZeros32(h<<12), 20)+1))
	}
	out := []byte{2}
	for i := 0; i < len(ranks); i += 4 {
		four := uint32(ranks[i]) | uint32(ranks[i+1])<<6 | uint32(ranks[i+2])<<12 |
			uint32(ranks[i+3])<<18
		out = append(out, byte(four), byte(four>>8), byte(four>>16))
	}
	return out
}

// fillBusy gives a link the sums of ten million clicks within 90 days.
func fillBusy(t testing.TB, b *bed, link int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UnixMilli()
	hour, day := clicks.HourOf(now), clicks.DayOf(now)
	key := func(i int, into []any) (n int) {
		into[0], into[1], into[2] = link, clicks.UnitHour, hour-int64(i)
		if i < busyHours {
			return busyClicks / busyHours
		}
		into[1], into[2] = clicks.UnitDay, day-int64(i-busyHours)
		return busyClicks / busyDays
	}
	sketches := make([][]byte, busyHours+busyDays)
	columns := []string{"link_id", "unit", "bucket", "hll"}
	_, err := b.db.Tx(t.Context(), func(tx source.StoreTx) error {
		err := tx.Bulk(t.Context(), &source.Bulk{Table: "click_sketches", Rows: len(sketches),
			Columns: columns, Row: func(i int, into []any) {
				sketches[i] = packedSketch(r, key(i, into)*2/3)
				into[3] = sketches[i]
			}})
		if err != nil {
			return err
		}
		if err := fillDims(t, tx, link, day); err != nil {
			return err
		}
		columns = append(columns[:3:3], "clicks", "bots", "visitors")
		return tx.Bulk(t.Context(), &source.Bulk{Table: "click_time", Rows: len(sketches),
			Columns: columns, Row: func(i int, into []any) {
				n := key(i, into)
				into[3], into[4], into[5] = int64(n), int64(n/20), int64(clicks.Visitors(sketches[i]))
			}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fillDims adds what the clicks were made of: as many referrers and countries each
// day as are kept, and what there is of the rest.
func fillDims(t testing.TB, tx source.StoreTx, link, day int64) error {
	values := []int{clicks.DimReferrer: 200, clicks.DimCountry: 200, clicks.DimBrowser: 15,
		clicks.DimOS: 10, clicks.DimDevice: 3}
	type key struct {
		dim clicks.Dim
		n   int
	}
	var keys []key
	for dim, n := range values {
		for i := range n {
			keys = append(keys, key{clicks.Dim(dim), i})
		}
	}
	return tx.Bulk(t.Context(), &source.Bulk{Table: "click_dims", Rows: busyDays * len(keys),
		Columns: []string{"link_id", "day", "dim", "value", "clicks"},
		Row: func(i int, into []any) {
			k := keys[i%len(keys)]
			into[0], into[1], into[2] = link, day-int64(i/len(keys)), int64(k.dim)
			into[3], into[4] = fmt.Sprintf("value-%03d.example", k.n), int64(1+i%777)
		}})
}

// BenchmarkStats asks for 90 days of a busy link, by hour, which is 2,160 points,
// by day, and what they are made of: the whole request but for the network.
func BenchmarkStats(b *testing.B) {
	bed := newBed(b, links.Options{}, nil)
	d, err := links.ParseDraft([]byte(`{"url":"https://example.com/"}`), row.FormatJSON)
	if err != nil {
		b.Fatal(err)
	}
	l, _, err := bed.h.o.Links.Create(b.Context(), d, "")
	if err != nil {
		b.Fatal(err)
	}
	fillBusy(b, bed, l.ID)
	local := context.WithValue(b.Context(), http.LocalAddrContextKey,
		net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	from := time.Now().UTC().Add(-(busyHours - 1) * time.Hour)
	for name, query := range map[string]string{"hours": "unit=hour", "days": "unit=day",
		"days,by": "unit=day&by=referrer,country,browser,os,device"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			path := "/api/v1/links/" + l.Code + "/stats?" + query + "&from=" +
				from.Format(time.RFC3339)
			w := httptest.NewRecorder()
			for b.Loop() {
				w = httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = "s.example"
				bed.h.ServeHTTP(w, r.WithContext(local))
			}
			var got struct {
				Series []any
				Total  map[string]int64
			}
			err := json.Unmarshal(w.Body.Bytes(), &got)
			if err != nil || w.Code != http.StatusOK || got.Total["visitors"] < busyClicks/2 ||
				name == "hours" && len(got.Series) != busyHours {
				b.Fatalf("%d, %d points, total %v, %v", w.Code, len(got.Series), got.Total, err)
			}
		})
	}
}
