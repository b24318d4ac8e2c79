package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var files embed.FS

// An asset is a file that pages refer to.
type asset struct {
	name, mediaType, tag string
	body                 []byte
}

// loadAssets returns the assets by their paths.
func loadAssets() (map[string]asset, error) {
	types := map[string]string{
		"style.css": "text/css; charset=utf-8", "script.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml",
	}
	assets := map[string]asset{}
	for name, mediaType := range types {
		body, err := files.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("the page's %s: %w", name, err)
		}
		sum := sha256.Sum256(body)
		assets["/+/"+name] = asset{
			name: name, mediaType: mediaType, body: body,
			tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`,
		}
	}
	return assets, nil
}

// serve answers with the asset. A browser asks again each time and is told that
// nothing has changed: a new version is seen at once.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.mediaType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.tag)
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.body))
}

// parseTemplates returns the pages, by the names of their files.
func (p *Page) parseTemplates() (*template.Template, error) {
	t := template.New("").Funcs(template.FuncMap{
		"count": count, "short": short,
		"ago":   func(t time.Time) string { return ago(p.o.Now(), t) },
		"stamp": stamp, "day": day,
		"until":  func(t time.Time) string { return until(p.o.Now(), t) },
		"target": targetOf, "region": regionName, "kind": kindName,
	})
	t, err := t.ParseFS(files, "assets/*.html")
	if err != nil {
		return nil, fmt.Errorf("the page's templates: %w", err)
	}
	return t, nil
}

// render answers with a page. It is made as a whole first, so that an error is
// no half of one.
func (p *Page) render(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, path.Base(name), data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the visitor may be gone, and nobody is left to tell
}
