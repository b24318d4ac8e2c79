package ops

import (
	"context"
	"net/http"
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
	writeJSON(w, struct {
		At       time.Time `json:"at"` // when the databases were looked at
		Findings []Finding `json:"findings"`
	}{at, append([]Finding{}, findings...)})
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
