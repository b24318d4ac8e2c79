package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"
)

// gofastRoutes are the paths that tools for gofast's transports know
// (github.com/bnclabs/gofast/http), with JSON that is JSON.
func gofastRoutes(o Options) []Route {
	return []Route{
		to("GET /gofast/transports", Operator, func(w http.ResponseWriter, _ *http.Request) {
			writeLine(w, append([]string{}, o.Transports()...))
		}),
		to("GET /gofast/statistics", Operator, func(w http.ResponseWriter, r *http.Request) {
			serveStatistics(w, r, o.Transport)
		}),
		to("GET /gofast/memstats", Operator, func(w http.ResponseWriter, _ *http.Request) {
			writeLine(w, memstats())
		}),
	}
}

// serveStatistics answers with the counters of the connection ?name=, or of all;
// ?keys= picks some of them, of which unknown ones are 0.
func serveStatistics(w http.ResponseWriter, r *http.Request,
	of func(string) (map[string]uint64, bool),
) {
	query := r.URL.Query()
	name := query.Get("name")
	counters, ok := of(name)
	if !ok {
		writeText(w, http.StatusInternalServerError, fmt.Sprintf("invalid name %q\n", name))
		return
	}
	if keys := query.Get("keys"); keys != "" {
		picked := make(map[string]uint64)
		for key := range strings.SplitSeq(keys, ",") {
			picked[key] = counters[key]
		}
		counters = picked
	}
	counters["timestamp"] = uint64(time.Now().UnixNano())
	writeLine(w, counters)
}

// memstats returns what gofast tells of the memory, in its names. The pauses are
// those of the last collections, the newest first.
func memstats() map[string]any {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	pauses := make([]uint64, 0, len(m.PauseNs))
	for i := range min(m.NumGC, uint32(len(m.PauseNs))) {
		pauses = append(pauses, m.PauseNs[(m.NumGC-1-i)%uint32(len(m.PauseNs))])
	}
	return map[string]any{
		"mallocs": m.Mallocs, "frees": m.Frees, "heapsys": m.HeapSys, "heapalloc": m.HeapAlloc,
		"heapidle": m.HeapIdle, "heapinuse": m.HeapInuse, "heapreleased": m.HeapReleased,
		"gcsys": m.GCSys, "pausetotalns": m.PauseTotalNs, "pausens": slices.Clip(pauses),
		"numgc": m.NumGC,
	}
}

// writeLine answers with v in one line.
func writeLine(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // see writeText
}
