package ops

import (
	"bytes"
	"embed"
	"net/http"
	"strings"

	"github.com/hotrow/hotrow/internal/webpage"
)

// The console is one page, its style and its script, and uPlot, which draws the charts.
// It reads /-/live as anybody with a token could; the files tell nothing of this hotrow.
//
//go:embed assets
var consoleAssets embed.FS

var consoleFiles = webpage.Files(consoleAssets)

// consolePolicy is the Content-Security-Policy: nothing runs, and nothing is loaded, that
// this port has not sent as a file of its own.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
	"base-uri 'none'; require-trusted-types-for 'script'"

const consoleHTML = "console.html"

// consolePage answers the console itself.
func consolePage(pages webpage.Pages) Route {
	return Route{Pattern: "GET /{$}", Who: Anybody, whole: true,
		serve: func(w http.ResponseWriter, r *http.Request) {
			file := consoleFiles[consoleHTML]
			file.Body = bytes.Replace(file.Body, []byte("TABS"),
				[]byte(webpage.NavOf(pages.Tabs(r.Host), "Inside")), 1)
			file.Tag = webpage.TagOf(file.Body)
			serveFile(w, r, file)
		}}
}

// consoleRoutes answer the files of the console.
func consoleRoutes() (list []Route) {
	for name, file := range consoleFiles {
		if name != consoleHTML {
			list = append(list, Route{Pattern: "GET /-/console/" + name, Who: Anybody, whole: true,
				serve: func(w http.ResponseWriter, r *http.Request) { serveFile(w, r, file) }})
		}
	}
	return list
}

// serveRoot answers a browser with the console, and others with what there is.
func serveRoot(w http.ResponseWriter, r *http.Request, console http.HandlerFunc) {
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeText(w, http.StatusOK, index)
		return
	}
	console(w, r)
}

func serveFile(w http.ResponseWriter, r *http.Request, file webpage.File) {
	w.Header().Set("Content-Security-Policy", consolePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	file.ServeHTTP(w, r)
}
