// Package explore is the page at / for browsers: its HTML, style and scripts, as files. They
// tell nothing of the database: the page reads it over HTTP, as anybody with a token could.
package explore

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"path"
)

//go:embed assets
var assets embed.FS

// Policy is the Content-Security-Policy of the page. Nothing runs but its own scripts, nothing
// is sent but to where it came from, and no script can make markup of a text.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

// Page is the name of the HTML.
const Page = "explore.html"

// A File is one of the page's.
type File struct {
	Type string // its media type
	Tag  string // its entity tag
	Body []byte // read-only
}

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
}

// Files are all files by name.
var Files = func() map[string]File {
	entries, err := assets.ReadDir("assets")
	if err != nil {
		panic("BUG: the page has no files: " + err.Error())
	}
	files := make(map[string]File, len(entries))
	for _, e := range entries {
		body, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			panic("BUG: a file of the page cannot be read: " + err.Error())
		}
		sum := sha256.Sum256(body)
		files[e.Name()] = File{Type: types[path.Ext(e.Name())], Body: body,
			Tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`}
	}
	return files
}()
