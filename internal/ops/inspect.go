package ops

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// An Inspection says what is kept of one document, or one list, and why.
type Inspection struct {
	Path     string     `json:"path"`               // as a request names it
	List     *KeptList  `json:"list,omitempty"`     // what follows is of a list as well
	Kept     bool       `json:"kept"`               // memory or disk would answer a request
	Where    string     `json:"where,omitempty"`    // memory, disk
	Row      bool       `json:"row"`                // there is one; else that there is none is kept
	Stale    bool       `json:"stale,omitempty"`    // it would be flagged
	Position string     `json:"position,omitempty"` // as the database has it
	Token    string     `json:"token,omitempty"`    // as clients see it
	Lag      Seconds    `json:"lag"`
	Bytes    int        `json:"bytes,omitempty"`
	ETag     string     `json:"etag,omitempty"`
	Body     string     `json:"body,omitempty"`     // JSON, shortened
	Depends  *KeptWords `json:"depends,omitempty"`  // of a document that is kept with words
	Change   *Change    `json:"change,omitempty"`   // of the row, the last; none: not followed
	Database *Compare   `json:"database,omitempty"` // when it was asked for
}

// A KeptList is what memory has of a list, and what that depends on.
type KeptList struct {
	Key     string `json:"key"`              // the query as all of its spellings are read
	State   string `json:"state"`            // what memory would do
	Why     string `json:"why"`              // that in words
	Spelled bool   `json:"spelled"`          // found by its bytes, without being parsed
	Precise bool   `json:"precise"`          // a change of rows that it does not find leaves it
	Coarse  string `json:"coarse,omitempty"` // why any change of its table counts
	Rows    int    `json:"rows,omitempty"`   // of what is kept, good or not
	Clock   uint64 `json:"clock,omitempty"`  // of words, when that was read

	Classes   []string   `json:"classes,omitempty"`   // of rows that can change the answer
	Words     []ListWord `json:"words,omitempty"`     // that what is kept depends on
	Guard     string     `json:"guard,omitempty"`     // what lets the database answer
	Documents []ListKey  `json:"documents,omitempty"` // of a list that is made of kept documents
}

// KeptWords are on what a document depends of which changes do not always name the key.
type KeptWords struct {
	State   string     `json:"state"`            // what memory would do
	Why     string     `json:"why"`              // that in words
	Paths   []string   `json:"paths,omitempty"`  // by which rows lead to it
	Precise bool       `json:"precise"`          // no change of other rows counts, as it was read
	Coarse  []string   `json:"coarse,omitempty"` // of which tables any row counts, and why
	Clock   uint64     `json:"clock,omitempty"`  // of words, when what is kept was read
	Words   []ListWord `json:"words,omitempty"`  // that it depends on
}

// A ListWord is one word that a list depends on. It is good while its stamp is not above
// the list's clock and no unsettled change keeps it.
type ListWord struct {
	Name      string `json:"name"`
	Stamp     uint64 `json:"stamp"`
	Unsettled int    `json:"unsettled,omitempty"`
	State     string `json:"state"` // still, moved, dirty
}

// A ListKey is one document of a list.
type ListKey struct {
	Path string `json:"path"`
	Kept bool   `json:"kept"`
}

// A Change is the last change of a document that the feed has told of.
type Change struct {
	Ago      *Seconds `json:"ago,omitempty"`      // none: there was none within Known
	Position string   `json:"position,omitempty"` // as the database writes it
	Whole    bool     `json:"whole,omitempty"`    // any document of the resource may be meant
	Known    Seconds  `json:"known"`              // for how long every change of it is known
}

// A Compare is what the database has at the same time.
type Compare struct {
	Row  bool    `json:"row"`
	Same bool    `json:"same"` // as what is kept
	ETag string  `json:"etag,omitempty"`
	Body string  `json:"body,omitempty"` // JSON, shortened
	Took Seconds `json:"took"`
}

// serveInspect answers what is kept of the document, or the list, that the query names.
func serveInspect(w http.ResponseWriter, r *http.Request,
	inspect func(context.Context, Target, bool) (Inspection, error),
) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		writeText(w, http.StatusBadRequest, "read the query: "+err.Error()+"\n")
		return
	}
	compare := query.Has("compare")
	query.Del("compare")
	t, err := target(query.Encode())
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	switch in, err := inspect(r.Context(), t, compare); {
	case err == nil:
		writeJSON(w, in)
	case errors.Is(err, ErrNoResource):
		writeText(w, http.StatusNotFound, err.Error()+"\n")
	case errors.Is(err, ErrKey), errors.Is(err, ErrQuery):
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
	default:
		writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
	}
}
