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

	// ErrQuery is the error of what asks for no list of the resource.
	ErrQuery = errors.New("not a list of the resource")
)

// serveFeed and serveCache copy the lists, so that an empty one is [] and not
// null for those who iterate.
func serveFeed(w http.ResponseWriter, s Snapshot) {
	writeJSON(w, map[string]any{"feeds": append([]Feed{}, s.Feeds...)})
}

// serveCache answers with the tiers and all resources; a query asks for a page of them.
func serveCache(w http.ResponseWriter, r *http.Request, s Snapshot) {
	tiers, resources := append([]Tier{}, s.Tiers...), append([]Resource{}, s.Resources...)
	if r.URL.RawQuery == "" {
		writeJSON(w, map[string]any{"tiers": tiers, "resources": resources})
		return
	}
	servePage(w, r, nil, func(p Page) any {
		list, of := cutPage(resources, p, func(r *Resource) string { return r.Name })
		return struct {
			Paged
			Tiers     []Tier     `json:"tiers"`
			Resources []Resource `json:"resources"`
		}{of, tiers, list}
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
	invalidate func(context.Context, Target) (bool, error),
) {
	t, err := target(r.URL.RawQuery)
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	switch kept, err := invalidate(r.Context(), t); {
	case err == nil:
		if !kept {
			w.Header().Set("Hotrow-Forgotten", "none")
		}
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, ErrNoResource):
		writeText(w, http.StatusNotFound, err.Error()+"\n")
	case errors.Is(err, ErrKey):
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
	default:
		writeText(w, http.StatusInternalServerError, err.Error()+"\n")
	}
}

// A Target is what is to be forgotten: a resource, or a document of it by its key,
// or either by its path.
type Target struct {
	Resource string
	Key      *string // nil: all documents
	Path     string  // RESOURCE or RESOURCE/KEY as in a request, instead of both
}

// target reads what to invalidate. It is strict, because a key that is lost
// over a slip of the pen would drop the whole resource.
func target(rawQuery string) (Target, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Target{}, fmt.Errorf("read the query: %w", err)
	}
	for name, values := range query {
		if name != "resource" && name != "key" && name != "path" || len(values) != 1 {
			return Target{}, fmt.Errorf("want resource and key, or path, once each, not %q", name)
		}
	}
	t := Target{Resource: query.Get("resource"), Path: query.Get("path")}
	if query.Has("path") && len(query) > 1 {
		return Target{}, errors.New("path names the resource and the key already")
	}
	if t.Resource == "" && t.Path == "" {
		return Target{}, errors.New("name a resource: ?resource=depts&key=10 or ?path=/depts/10")
	}
	if query.Has("key") {
		k := query.Get("key")
		t.Key = &k
	}
	return t, nil
}
