package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/a-h/templ"
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

// render answers with a page. It is made as a whole first, so that an error is
// no half of one, and of what is known by now, so that no context ends it. HTML has
// no NUL: one in a text is written as U+FFFD, as a browser reads it.
func (p *Page) render(w http.ResponseWriter, status int, page templ.Component) {
	var out bytes.Buffer
	if err := page.Render(context.Background(), &out); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	text := bytes.ReplaceAll(out.Bytes(), []byte{0}, []byte("\uFFFD"))
	_, _ = w.Write(text) // the visitor may be gone, and nobody is left to tell
}
