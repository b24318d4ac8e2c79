// Package webpage is what the pages of hotrow have in common, whichever listener they are at: one
// style sheet with colours, type, controls and the header, the icon, the tabs from page to page,
// and how a page's files are sent.
package webpage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed assets
var shared embed.FS

// A File is one that a page asks for.
type File struct {
	Name string
	Type string // its media type
	Tag  string // its entity tag
	Body []byte // read-only
}

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Files returns the files in the directory assets of own, and those that pages share, by name.
// It panics if they cannot be read: own is embedded.
func Files(own fs.FS) map[string]File {
	files := map[string]File{}
	for _, from := range []fs.FS{shared, own} {
		entries, err := fs.ReadDir(from, "assets")
		if err != nil {
			panic("BUG: a page has no files: " + err.Error())
		}
		for _, e := range entries {
			body, err := fs.ReadFile(from, "assets/"+e.Name())
			if err != nil {
				panic("BUG: a file of a page cannot be read: " + err.Error())
			}
			if t := types[path.Ext(e.Name())]; t != "" { // else it is for who builds hotrow
				files[e.Name()] = File{Name: e.Name(), Type: t, Tag: TagOf(body), Body: body}
			}
		}
	}
	return files
}

// TagOf returns the entity tag of a file or a page.
func TagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// ServeHTTP answers with the file. A browser asks again each time and is told that nothing has
// changed: a new version is seen at once.
func (f File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.Type)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.Tag)
	http.ServeContent(w, r, f.Name, time.Time{}, bytes.NewReader(f.Body))
}

// Pages are the URLs of a process's pages, whole or relative; "": it has none, or not for who
// asks.
type Pages struct {
	Rows   string
	Links  string
	Inside string // the console
}

// A Tab leads to a page.
type Tab struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Tabs returns the tabs for who sends a Host header: a page at an address of this machine alone
// is one for who is there. One page alone has none.
func (p Pages) Tabs(host string) []Tab {
	tabs := make([]Tab, 0, 3)
	for _, t := range []Tab{{"Rows", p.Rows}, {"Links", p.Links}, {"Inside", p.Inside}} {
		at, err := url.Parse(t.URL)
		if t.URL == "" || err != nil || at.IsAbs() && !reaches(host, at) {
			continue
		}
		tabs = append(tabs, t)
	}
	if len(tabs) == 1 {
		return nil
	}
	return tabs
}

// reaches reports whether who sends a Host header reaches a URL. Nobody asks a socket of the
// file system, or an address of all interfaces.
func reaches(host string, at *url.URL) bool {
	ip, _ := netip.ParseAddr(at.Hostname())
	from := url.URL{Host: host}
	return at.Host != "" && !ip.IsUnspecified() &&
		(!isLoopback(at.Hostname()) || isLoopback(from.Hostname()))
}

func isLoopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// NavOf returns tabs as HTML; current is the name of the page that shows them.
func NavOf(tabs []Tab, current string) string {
	var b strings.Builder
	for _, t := range tabs {
		b.WriteString(`<a href="` + html.EscapeString(t.URL) + `"`)
		if t.Name == current {
			b.WriteString(` aria-current="page"`)
		}
		b.WriteString(">" + t.Name + "</a>")
	}
	return b.String()
}
