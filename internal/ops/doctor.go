package ops

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Finding is one thing that the doctor has looked at.
type Finding struct {
	Source string   `json:"source"`
	Level  string   `json:"level"` // ok, info, warning or error
	Text   string   `json:"text"`
	Why    string   `json:"why,omitempty"`     // what happens if it stays
	SQL    []string `json:"sql,omitempty"`     // mends it
	ByHand []string `json:"by_hand,omitempty"` // mends it and concerns others too
}

const (
	doctorRest  = 10 * time.Second // between two looks at the databases
	doctorLimit = 30 * time.Second // of one
)

// doctor answers what the doctor says. However many ask, the databases are looked at by
// one at a time, and not more often than every doctorRest.
type doctor struct {
	look func(context.Context) ([]Finding, error)

	mu       sync.Mutex // held while the databases are looked at
	at       time.Time
	findings []Finding
}

func newDoctor(look func(context.Context) ([]Finding, error)) *doctor { return &doctor{look: look} }

// ServeHTTP answers with the findings, those of a moment ago if there are any.
func (d *doctor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.look == nil {
		writeText(w, http.StatusNotFound, "there is no doctor\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), doctorLimit)
	defer cancel()
	at, findings, err := d.ask(ctx)
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	all := append([]Finding{}, findings...)
	if r.URL.RawQuery == "" {
		writeJSON(w, struct {
			At       time.Time `json:"at"` // when the databases were looked at
			Findings []Finding `json:"findings"`
		}{at, all})
		return
	}
	servePage(w, r, nil, func(p Page) any { return briefly(at, all, p) })
}

// previewed is how many bytes a page of findings has of the statements of one, or of its text.
const previewed = 4 << 10

// A briefFinding is a finding with the first of its statements.
type briefFinding struct {
	Finding
	Statements int `json:"statements,omitempty"` // all of them
}

// briefly returns a page of findings, the worst first, and how many there are of each level.
func briefly(at time.Time, all []Finding, p Page) any {
	levels := map[string]int{"error": 0, "warning": 0, "info": 0, "ok": 0}
	for i := range all {
		levels[all[i].Level]++
	}
	worst := []string{"error", "warning", "info", "ok"}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(slices.Index(worst, a.Level), slices.Index(worst, b.Level))
	})
	list, of := cutPage(all, p, func(f *Finding) string { return f.Source + ": " + f.Text })
	brief := make([]briefFinding, len(list))
	for i, f := range list {
		brief[i] = briefFinding{f, len(f.SQL) + len(f.ByHand)}
		brief[i].Text, brief[i].Why = shorten(f.Text), shorten(f.Why)
		room := previewed
		brief[i].SQL = first(f.SQL, &room)
		brief[i].ByHand = first(f.ByHand, &room)
	}
	return struct {
		Paged
		At       time.Time      `json:"at"`
		Levels   map[string]int `json:"levels"`
		Findings []briefFinding `json:"findings"`
	}{of, at, levels, brief}
}

// first returns the first statements for which there is room.
func first(statements []string, room *int) []string {
	for i, s := range statements {
		if *room -= len(s); *room < 0 {
			return statements[:i]
		}
	}
	return statements
}

// shorten returns a text that names hundreds of tables up to where there is room.
func shorten(text string) string {
	if len(text) <= previewed {
		return text
	}
	return strings.ToValidUTF8(text[:previewed], "") + " ..."
}

// ask returns the findings, and of when they are.
func (d *doctor) ask(ctx context.Context) (time.Time, []Finding, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < doctorRest {
		return d.at, d.findings, nil
	}
	findings, err := d.look(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	d.at, d.findings = time.Now(), findings
	return d.at, findings, nil
}
