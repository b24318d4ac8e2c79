package linksfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// What a request line may look like, and what may come before it, has the same answer
// for a redirect from memory, one that is waited for and what net/http answers.
func TestFront_AgreesOnRequestLines(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.warm("/asdf")
	const host = "\r\nHost: localhost\r\n"
	for _, tt := range []struct {
		before, method, query, version string
		code                           int
	}{
		{"", "GET", "", "1.1", 301}, {"\r\n", "GET", "", "1.1", 301}, {"\r\n", "HEAD", "", "1.0", 301},
		{"\r\n\r\n", "GET", "", "1.1", 400}, {"\n", "GET", "", "1.1", 400}, {"", "GET", "", "1.2", 301},
		{"", "GET", "", "1.10", 400}, {"", "GET", "", "2.0", 505}, {"", "GET", "", "0.9", 505},
		{"", "GET", "?" + strings.Repeat("x", http1.MaxRequestLine), "1.1", 414},
		{"", "PUT", "?" + strings.Repeat("x", http1.MaxRequestLine), "1.1", 414},
	} {
		for _, more := range []string{"", "Connection: keep-alive, x\r\n"} { // net/http's
			text := tt.before + tt.method + " /asdf" + tt.query + " HTTP/" + tt.version + host + more + "\r\n"
			if a := b.send(text, tt.method)[0]; a.StatusCode != tt.code || a.Close != (tt.code != 301 ||
				tt.version == "1.0" && more == "") {
				t.Errorf("%.60q: %d, close %v; want %d", text, a.StatusCode, a.Close, tt.code)
			}
		}
	}
	old := "GET /asdf HTTP/1.0" + host + "Connection: keep-alive\r\n\r\n"
	odd := "GET /robots.txt HTTP/1.0" + host + "Connection: keep-alive\r\n\r\n" // net/http's
	list := b.send(old+odd+"\r\n"+old+odd+old, "GET", "GET", "GET", "GET", "GET")
	for i, a := range list {
		if a.Close || a.Header.Get("Connection") != "keep-alive" {
			t.Errorf("answer %d of HTTP/1.0: %v %v", i, a.Close, a.Header)
		}
	}
}
