package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hotrow/hotrow/internal/links/transfer"
)

// maxImport bounds a file that is imported on the page; the command has no bound.
const maxImport = 64 << 20

// formats are what a file may come from, and what that is called.
var formats = []struct {
	Value transfer.Format
	Name  string
}{
	{transfer.Auto, "find out"}, {transfer.Bitly, "Bitly"}, {transfer.YOURLS, "YOURLS"},
	{transfer.Shlink, "Shlink"}, {transfer.Kutt, "Kutt"}, {transfer.Golink, "golink"},
	{transfer.CSV, "a table (CSV)"}, {transfer.Hotrow, "hotrow"},
}

// An importView is what /+/import shows.
type importView struct {
	frame
	Report *imported
	Err    string
}

// An imported is what an import has done, or would do.
type imported struct {
	*transfer.Report
	Dry     bool
	Skipped string // domains whose links were left out, as they were to be
}

// outcome says what has become of the links that it counts.
func (r *imported) outcome() string {
	if r.Dry {
		return "would be imported; nothing was changed"
	}
	return "imported"
}

// serveImport shows the form for a file, or imports one.
func (p *Page) serveImport(w http.ResponseWriter, r *http.Request) {
	if !methods(w, r, http.MethodGet, http.MethodHead, http.MethodPost) {
		return
	}
	var view importView
	status := http.StatusOK
	if r.Method == http.MethodPost {
		var err error
		if view.Report, err = p.importFile(w, r); err != nil {
			view.Err, status = err.Error(), http.StatusUnprocessableEntity
		}
	}
	if p.get(r, "/api/v1/links?limit=1", nil) == http.StatusUnauthorized {
		p.signIn(w, r, "/+/import", "")
		return
	}
	view.frame = p.frame(r, "Import")
	p.render(w, status, importPage(view))
}

// importFile imports the file of a form, which is read as it arrives.
func (p *Page) importFile(w http.ResponseWriter, r *http.Request) (*imported, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxImport)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	format, dry, domain := transfer.Auto, false, ""
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil, errors.New("there was no file in the form")
		}
		if err != nil {
			return nil, err
		}
		if part.FormName() == "from" {
			name, err := io.ReadAll(io.LimitReader(part, 32))
			if err != nil {
				return nil, err
			}
			if format, err = transfer.ParseFormat(string(name)); err != nil {
				return nil, err
			}
		}
		if part.FormName() == "domain" {
			name, err := io.ReadAll(io.LimitReader(part, 256))
			if err != nil {
				return nil, err
			}
			domain = strings.TrimSpace(string(name))
		}
		if part.FormName() == "dry" {
			dry = true
		}
		if part.FormName() == "file" {
			skipped := make(map[string]int)
			links := transfer.OneDomain(transfer.Read(part, format), domain, skipped)
			report, err := transfer.Import(r.Context(), links, p.sender(r, dry), dry, func(int) {})
			return &imported{report, dry, transfer.Domains(skipped)}, err
		}
	}
}

// sender gives links to the API within the process.
func (p *Page) sender(r *http.Request, dry bool) transfer.Sender {
	path := "/api/v1/links"
	if dry {
		path += "?dry_run=1"
	}
	return func(_ context.Context, lines []byte, _ int) ([]transfer.Answer, error) {
		rec := &recorder{header: http.Header{}, status: http.StatusOK}
		req, err := p.request(r, call{
			method: http.MethodPost, path: path, body: bytes.Clone(lines),
			mediaType: "application/x-ndjson",
		})
		if err != nil {
			return nil, err
		}
		p.o.API.ServeHTTP(rec, req)
		if rec.status != http.StatusOK {
			bad := &problem{Status: rec.status}
			_ = json.Unmarshal(rec.body.Bytes(), bad) // else it is a bare status
			bad.Status = rec.status
			return nil, errors.New(bad.say())
		}
		return transfer.ReadAnswers(&rec.body)
	}
}

// serveExport gives all links that a list shows as a file.
func (p *Page) serveExport(w http.ResponseWriter, r *http.Request) {
	if !methods(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	name, mediaType := "links.ndjson", "application/x-ndjson"
	if r.URL.Path == "/+/export.csv" {
		name, mediaType = "links.csv", "text/csv"
	}
	ask := url.Values{}
	for _, key := range []string{"q", "tag", "order"} {
		if v := r.URL.Query().Get(key); v != "" {
			ask.Set(key, v)
		}
	}
	req, err := p.request(r, call{method: http.MethodGet, path: "/api/v1/links?" + ask.Encode()})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	req.Header.Set("Accept", mediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	p.o.API.ServeHTTP(w, req)
}
