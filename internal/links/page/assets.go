package page

import (
	"bytes"
	"context"
	"embed"
	"net/http"

	"github.com/a-h/templ"

	"github.com/hotrow/hotrow/internal/webpage"
)

//go:embed assets
var assets embed.FS

// files are what pages refer to, at /+/NAME.
var files = webpage.Files(assets)

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
