package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// The errors of Options.Invalidate that have an answer of their own.
var (
	// ErrNoResource is the error of a resource that is not served.
	ErrNoResource = errors.New("no such resource")

	// ErrKey is the error of a key that no row of the resource can have.
	ErrKey = errors.New("not a key of the resource")
)

// serveFeed and serveCache copy the lists, so that an empty one is [] and not
// null for those who iterate.
func serveFeed(w http.ResponseWriter, s Snapshot) {
	writeJSON(w, map[string]any{"feeds": append([]Feed{}, s.Feeds...)})
}

func serveCache(w http.ResponseWriter, s Snapshot) {
	writeJSON(w, map[string]any{
		"tiers":     append([]Tier{}, s.Tiers...),
		"resources": append([]Resource{}, s.Resources...),
	})
}

// writeJSON answers with v, for people and programs.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // see writeText
}

// serveInvalidate drops the documents that the query names. It answers when
// they are gone.
func serveInvalidate(w http.ResponseWriter, r *http.Request,
	invalidate func(context.Context, string, *string) error,
) {
	name, key, err := target(r.URL.RawQuery)
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	switch err := invalidate(r.Context(), name, key); {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, ErrNoResource):
		writeText(w, http.StatusNotFound, err.Error()+"\n")
	case errors.Is(err, ErrKey):
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
	default:
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
	}
}

// target reads what to invalidate. It is strict, because a key that is lost
// over a slip of the pen would drop the whole resource.
func target(rawQuery string) (resource string, key *string, err error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return "", nil, fmt.Errorf("read the query: %w", err)
	}
	for name, values := range query {
		if name != "resource" && name != "key" || len(values) != 1 {
			return "", nil, fmt.Errorf("want resource and key once each, not %q", name)
		}
	}
	if query.Get("resource") == "" {
		return "", nil, errors.New("name a resource: ?resource=depts&key=10")
	}
	if query.Has("key") {
		k := query.Get("key")
		key = &k
	}
	return query.Get("resource"), key, nil
}
