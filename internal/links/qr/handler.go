package qr

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The pictures that may be asked for.
const (
	minSize, defaultSize, maxSize = 32, 264, 2048 // pixels
	maxQuiet                      = 16            // modules
)

// A Handler answers GET /CODE.svg and /CODE.png with the QR code of a short URL;
// ?size=N says how many pixels wide, ?margin=N how many modules of margin.
type Handler struct {
	BaseURL string // what codes are appended to: https://s.example
	Fold    bool   // the case of a code does not matter
}

// ServeHTTP answers one request. A picture depends on nothing but its URL, so
// that it may be kept for a day and is compared by its entity tag then.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, kind, ok := Split(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a picture can only be read", http.StatusMethodNotAllowed)
		return
	}
	size, err := number(r, "size", minSize, defaultSize, maxSize)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	quiet, err := number(r, "margin", 0, Quiet, maxQuiet)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := Text(h.BaseURL, code, h.Fold)
	header := w.Header()
	header.Set("Cache-Control", "public, max-age=86400")
	header.Set("ETag", etag(text, kind, size, quiet))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if matches(r.Header.Get("If-None-Match"), header.Get("ETag")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, mediaType, err := draw(text, kind, size, quiet)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", mediaType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Content-Disposition", `inline; filename="`+code+"."+kind+`"`)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client may be gone, and nobody is left to tell
	}
}

// Split takes /CODE.svg apart. It reports false for every other path.
func Split(path string) (code, kind string, ok bool) {
	code, kind, ok = strings.Cut(strings.TrimPrefix(path, "/"), ".")
	if !ok || !strings.HasPrefix(path, "/") || kind != "svg" && kind != "png" {
		return "", "", false
	}
	return code, kind, isCode(code)
}

// isCode reports whether a text could be the code of a link.
func isCode(code string) bool {
	if len(code) == 0 || len(code) > 64 || code[0] == '-' || code[0] == '_' {
		return false
	}
	for _, c := range []byte(code) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') &&
			c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// number returns a query parameter between least and most.
func number(r *http.Request, name string, least, usual, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is a number from %d to %d", name, least, most)
	}
	return n, nil
}

// etag returns the entity tag of a picture.
func etag(text, kind string, size, quiet int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "1 %s %s %d %d", text, kind, size, quiet))
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// matches compares entity tags weakly, as If-None-Match wants it (RFC 9110,
// 13.1.2).
func matches(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// draw returns a picture and its media type.
func draw(text, kind string, size, quiet int) (body []byte, mediaType string, err error) {
	symbol, err := New(text)
	if err != nil {
		return nil, "", err
	}
	if kind == "svg" {
		return symbol.AppendSVG(nil, size, quiet), "image/svg+xml", nil
	}
	body, err = symbol.PNG(size, quiet)
	return body, "image/png", err
}
