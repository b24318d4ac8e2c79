package linksfront

import (
	"net/http"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// Waiting answers every request with 503 and Retry-After: what a listener says
// of which nobody knows the links yet.
func Waiting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{req: new(http1.Request)}
		x.req.Accept, x.req.Head = []byte(r.Header.Get("Accept")), r.Method == http.MethodHead
		if path := r.URL.EscapedPath(); path != "" {
			x.asked.parse([]byte(path), false)
		}
		x.transcribe(w, x.problem(nil, &unread, "Retry-After: 1\r\n"))
	})
}
