package ops

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// The console is one page, its style and its script, and uPlot, which draws the charts.
// It reads /-/live as anybody with a token could; the files tell nothing of this hotrow.
//
//go:embed assets
var consoleFiles embed.FS

// consolePolicy is the Content-Security-Policy: nothing runs, and nothing is loaded, that
// this port has not sent as a file of its own.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
	"base-uri 'none'"

// consoleRoutes answer the files of the console.
func consoleRoutes() []Route {
	list := []Route{{Pattern: "GET /{$}", Who: Anybody, serve: serveRoot, whole: true}}
	for name, mediaType := range map[string]string{
		"console.css": "text/css; charset=utf-8", "uplot.css": "text/css; charset=utf-8",
		"console.js": "text/javascript; charset=utf-8",
		"uplot.js":   "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		list = append(list, Route{
			Pattern: "GET /-/console/" + name, Who: Anybody, whole: true,
			serve: func(w http.ResponseWriter, r *http.Request) {
				serveFile(w, r, name, mediaType)
			},
		})
	}
	return list
}

// serveRoot answers a browser with the console, and others with what there is.
func serveRoot(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeText(w, http.StatusOK, index)
		return
	}
	serveFile(w, r, "console.html", "text/html; charset=utf-8")
}

// serveFile answers with a file of the console. A browser asks again each time and is
// told that nothing has changed: a new version is seen at once.
func serveFile(w http.ResponseWriter, r *http.Request, name, mediaType string) {
	body, err := consoleFiles.ReadFile("assets/" + name)
	if err != nil {
		writeText(w, http.StatusNotFound, "no such file\n")
		return
	}
	sum := sha256.Sum256(body)
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Security-Policy", consolePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:9])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}
