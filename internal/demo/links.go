package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// namedLinks are the links of the demo that one may try. The first is that of
// the benchmark of davidkroell/shortcut.
var namedLinks = []struct {
	code, url string
	status    int
}{
	{"asdf", "https://davidkroell.github.io", 301},
	{"go", "https://go.dev/", 302},
	{"sqlite", "https://sqlite.org/docs.html", 302},
	{"rfc9110", "https://www.rfc-editor.org/rfc/rfc9110.html#name-status-codes", 308},
}

// plainLinks are those that the shop would have, as people name them: an occasion, and where
// it was told of.
var plainLinks = func() (codes []string) {
	for _, occasion := range []string{"spring", "summer", "autumn", "winter", "sale", "new",
		"gifts", "kitchen", "table", "office", "hall", "returns", "jobs", "press"} {
		for _, place := range []string{"", "-mail", "-shop", "-card", "-poster", "-podcast",
			"-2024", "-2025", "-2026", "-de", "-fr", "-jp", "-map", "-faq"} {
			codes = append(codes, occasion+place)
		}
	}
	return codes
}()

// linkCode returns the code of link i.
func linkCode(i int) string {
	if i < len(namedLinks) {
		return namedLinks[i].code
	}
	return plainLinks[i-len(namedLinks)]
}

// Links returns the INSERTs of the demo's links, whose tables are there.
func Links() []string {
	w := &inserter{head: "INSERT INTO links (code, url, url_hash, status, created_at, " +
		"updated_at) VALUES"}
	for _, l := range namedLinks {
		writeLink(w, l.code, l.url, l.status)
	}
	for _, code := range plainLinks {
		occasion, place, _ := strings.Cut(code, "-")
		url := "https://shop.example/" + occasion
		if place != "" {
			url += "?from=" + place
		}
		writeLink(w, code, url, 302)
	}
	return w.statements()
}

// linksMade is when the demo's links were made, in milliseconds since 1970.
const linksMade = 1_551_312_000_000 // 2019-02-28, as the first commit of shortcut

// writeLink writes one link.
func writeLink(w *inserter, code, url string, status int) {
	sum := sha256.Sum256([]byte(url))
	w.begin()
	w.text(code)
	w.text(url)
	w.bytes(sum[:16])
	w.number(int64(status))
	w.number(linksMade)
	w.number(linksMade)
}

// bytes writes a string of bytes as SQLite and MariaDB have it.
func (w *inserter) bytes(b []byte) {
	w.next()
	w.b = append(w.b, "X'"+hex.EncodeToString(b)+"'"...)
}

// LinksYAML returns the section that serves the demo's links out of its own
// database, with the click log in a directory dir.
func LinksYAML(dir string) string {
	return "links:\n  database: main\n  log: {dir: " +
		strconv.QuoteToASCII(strings.ReplaceAll(dir, "${", "$${")) + ", max: 512MiB}\n"
}
