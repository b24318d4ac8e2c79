package linksfront

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A page is what is sent where there is no redirect. Of the request it says nothing
// but the code, whose bytes mean nothing to HTML.
type page struct {
	status, json string
	html         [2]string // before the code and behind it
	bare         [2]string // the same where there is no code
	again        bool      // the way on is to ask again
}

// pageStyle is the style sheet of pages, which nothing but its hash allows.
const pageStyle = `:root{color-scheme:light dark;--g:#f6f5f2;--c:#fff;--l:#e3e0d9;--i:#1f1d1a;` +
	`--s:#5f5a52;--a:#97390a}` +
	`@media(prefers-color-scheme:dark){:root{--g:#161513;--c:#1f1e1b;--l:#35322d;--i:#ece8e1;` +
	`--s:#b3ada2;--a:#f2a06c}}` +
	`body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--g);` +
	`color:var(--i);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",` +
	`sans-serif}` +
	`main{box-sizing:border-box;width:min(30rem,calc(100vw - 2rem));background:var(--c);` +
	`border:1px solid var(--l);border-radius:12px;padding:1.75rem 2rem}` +
	`h1{font-size:1.35rem;line-height:1.25;margin:.4rem 0 .6rem}p{margin:0 0 1.1rem}` +
	`code{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;color:var(--s);` +
	`overflow-wrap:anywhere}` +
	`nav{display:flex;flex-wrap:wrap;gap:.4rem 1.4rem}` +
	`a{color:var(--a);padding:.25rem 0;text-underline-offset:3px}` +
	`:focus-visible{outline:2px solid var(--a);outline-offset:3px;border-radius:3px}`

// pageHome leads on, and pageEnd is the end of every page.
const (
	pageHome = `<a href="/">Start page</a>`
	pageEnd  = `</nav></main></body></html>` + "\n"
)

// pagePolicy lets a page have its style, and nothing else.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "Content-Security-Policy: default-src 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; frame-ancestors 'none'\r\n"
}()

// newPage returns the page of one status: its name among the problems, what has
// happened, and what the visitor can do.
func newPage(status, name, title, text, advice string) page {
	head := `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
		`<meta name="viewport" content="width=device-width, initial-scale=1"><title>` + title +
		`</title><style>` + pageStyle + `</style></head><body><main>`
	what := `<h1>` + text + `</h1><p>` + advice + `</p><nav>`
	p := page{
		status: status,
		json: `{"type":"/-/problems/` + name + `","title":"` + title + `","status":` + status[:3] +
			`,"detail":"` + text + `"}` + "\n",
		bare: [2]string{head, what}, again: status[:3] == "503",
	}
	p.html = [2]string{head + `<code>/`, `</code>` + what}
	return p
}

var (
	notFound = newPage("404 Not Found", "not-found", "Not Found", "There is no such link",
		"Look whether the address is complete and spelled as you were given it, or ask whom you "+
			"have it from.")
	gone = newPage("410 Gone", "gone", "Gone", "This link is no longer in use",
		"It has expired, or was followed as often as it may be. Ask whom you have it from for "+
			"another.")
	tooMany = newPage("429 Too Many Requests", "rate-limited", "Too Many Requests",
		"Too many links were asked for that do not exist", "Wait a minute, then try again.")
	noMethod = newPage("405 Method Not Allowed", "method", "Method Not Allowed",
		"A link is followed with GET or HEAD", "Open it in a browser.")
	logFull = newPage("503 Service Unavailable", "log-full", "Service Unavailable",
		"Hits cannot be recorded at present", "The link is there. Try again in a moment.")
	defect = newPage("500 Internal Server Error", "internal", "Internal Server Error",
		"A defect has ended the answer", "The log of the server shows it.")
	unread = newPage("503 Service Unavailable", "unavailable", "Service Unavailable",
		"Links cannot be read at present", "This passes by itself. Try again in a moment.")
	unknownHost = newPage("421 Misdirected Request", "misdirected", "Misdirected Request",
		"This server does not answer for the host that was asked",
		"Look whether the address is spelled as you were given it.")
)

// appendHTML appends the page of a code: its name, what has happened, and the way on: again
// where that helps, else, for who may, to what can be done about the link. "" is no code.
// Visitors are not led to a page that asks them for a key.
func (p *page) appendHTML(dst, code []byte, o *settings) []byte {
	parts := p.html
	if len(code) == 0 {
		parts = p.bare
	}
	dst = append(append(append(dst, parts[0]...), code...), parts[1]...)
	if p.again && len(code) > 0 {
		dst = append(append(append(dst, `<a href="/`...), code...), `">Try again</a>`...)
	}
	if o != nil && o.Own && len(code) > 0 {
		dst = append(append(append(dst, `<a href="/`...), code...), `+">About this link</a>`...)
	}
	if o != nil && (o.Own || o.Root != "") {
		dst = append(dst, pageHome...)
	}
	return append(dst, pageEnd...)
}

// missing returns what an operator has programs told instead of a problem where
// there is no link; "": nothing.
func (x *exchange) missing(p *page) string {
	if p != &notFound || x.o == nil || string(x.req.Accept) != "application/json" {
		return ""
	}
	if x.asked.kind == plain {
		return x.o.MissCode
	}
	return x.o.MissPath
}

func (x *exchange) methodNotAllowed(out []byte) []byte {
	x.count(&x.counts.other)
	return x.problem(out, &noMethod, "Allow: GET, HEAD\r\n")
}

func (x *exchange) unavailable(out []byte) []byte {
	return x.problem(out, &logFull, "Retry-After: 1\r\n")
}

func (x *exchange) tooMany(out []byte) []byte {
	wait := strconv.Itoa(untilNextMinute(x.now))
	return x.problem(out, &tooMany, "Retry-After: "+wait+"\r\n")
}

// maxPage is about how long a page is.
const maxPage = 2560

// problem appends a page, as JSON for programs.
func (x *exchange) problem(out []byte, p *page, headers ...string) []byte {
	out = append(append(append(out, "HTTP/1.1 "...), p.status...), "\r\n"...)
	out = x.req.AppendConnection(append(out, x.date...), x.closing)
	for _, h := range headers {
		out = append(out, h...)
	}
	kind, body := "text/html; charset=utf-8", []byte(p.json)
	if bytes.Contains(x.req.Accept, []byte("json")) &&
		!bytes.Contains(x.req.Accept, []byte("text/html")) {
		kind = "application/problem+json"
		if own := x.missing(p); own != "" {
			kind, body = "application/json", []byte(own)
		}
	} else {
		body = p.appendHTML(make([]byte, 0, maxPage), x.asked.code, x.o)
	}
	out = append(append(append(out, "Content-Type: "...), kind...), "\r\n"...)
	out = append(append(out, "Cache-Control: no-store\r\n"...), pagePolicy...)
	out = append(out, "X-Content-Type-Options: nosniff\r\nX-Robots-Tag: noindex\r\n"...)
	out = http1.AppendEnd(http1.AppendLength(out, len(body)))
	if x.req.Head {
		return out
	}
	return append(out, body...)
}
