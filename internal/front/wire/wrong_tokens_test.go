package wirefront

import (
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/front"
)

// Tokens that nobody has are counted, and so many of them end the connection. Others are not
// counted.
func TestWrongTokens_EndTheConnection(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newProtectedSite(t, form)
		p := s.dial("r")
		say := func(token string) {
			t.Helper()
			out, err := p.s.AppendAuth(nil, []byte(token))
			if err != nil {
				t.Fatal(err)
			}
			p.write(out)
		}
		for range 2 * front.WrongTokens {
			say("r")
			p.wantCode(gofast.OK, "pay", "1")
		}
		for range front.WrongTokens - 1 {
			say("wrong")
			p.wantCode(gofast.Unauthenticated, "pay", "1")
		}
		say("r")
		p.wantCode(gofast.OK, "pay", "1")
		say("wrong")
		p.wantEnd()
		s.dial("r").wantCode(gofast.OK, "pay", "1")
	})
}
