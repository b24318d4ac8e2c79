// Package explore is the page at / for browsers: its HTML, style and scripts, as files. They
// tell nothing of the database: the page reads it over HTTP, as anybody with a token could.
package explore

import (
	"embed"

	"github.com/hotrow/hotrow/internal/webpage"
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

// Files are all files by name.
var Files = webpage.Files(assets)
