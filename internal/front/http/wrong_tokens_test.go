package httpfront

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// Tokens that nobody has are counted, and so many of them end the connection, over every version
// of HTTP and by whatever request: who guesses has to connect again. Others are not counted.
func TestWrongTokens_EndTheConnection(t *testing.T) {
	for _, road := range []string{"loop", "tls", "h2", "h2c"} {
		t.Run(road, func(t *testing.T) {
			s := newTLSSite(t, road)
			secret, token := newToken(t, "r", "reader")
			s.tokens.Set([]front.Token{token})
			made := 0
			ask := func(method, token, body string) int {
				t.Helper()
				trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
					if !c.Reused {
						made++
					}
				}}
				r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace),
					method, s.url+"/pay/1", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				r.Header.Set("Content-Type", "application/json")
				a, err := s.client.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer a.Body.Close()
				if _, err := io.ReadAll(a.Body); err != nil {
					t.Fatal(err)
				}
				return a.StatusCode
			}
			for range 2 * front.WrongTokens {
				if code := ask("GET", secret, ""); code != 200 {
					t.Fatalf("with the token: %d", code)
				}
				if code := ask("GET", "", ""); code != 401 {
					t.Fatalf("without one: %d", code)
				}
			}
			if made != 1 {
				t.Fatalf("%d connections before any wrong token", made)
			}
			const rounds = 3
			for i := range rounds * front.WrongTokens {
				method, body := "GET", ""
				if i%2 == 1 {
					method, body = "PATCH", `{"sal":1}`
				}
				if code := ask(method, "wrong", body); code != 401 {
					t.Fatalf("with a wrong token: %d", code)
				}
			}
			if ask("GET", secret, ""); made != 1+rounds {
				t.Errorf("%d wrong tokens took %d connections, want %d", rounds*front.WrongTokens,
					made-1, rounds)
			}
		})
	}
}
