package eventloop

import (
	"testing"
	"time"
)

// echoer answers each byte of its input and pushes another one as soon as it has been
// asked: an upper case letter at once, a lower case one when it is resumed.
type echoer struct{}

func (echoer) Open(_ *Conn, out []byte) []byte         { return out }
func (echoer) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }

func (echoer) Step(c *Conn, in, out []byte) (int, []byte, Next) {
	b := in[0]
	if b >= 'a' {
		go func() {
			<-time.After(2 * time.Millisecond) // of ticks
			c.ResumeThen([]byte{b}, More)
			c.Send([]byte{'!'})
		}()
		return 1, out, Parked
	}
	out = append(out, b)
	sent := make(chan struct{})
	go func() {
		c.Send([]byte{'!'})
		close(sent)
	}()
	<-sent
	<-time.After(time.Millisecond) // in which it would be written
	return 1, out, Flush
}

// TestPush_IsBehindTheAnswer: what is sent after an answer was appended, or given to
// Resume, is written behind it, in every form. A client that keeps copies goes by that: an
// answer that arrives behind the news that it is old is kept for ever.
func TestPush_IsBehindTheAnswer(t *testing.T) {
	each(t, loopForms, Config{Proto: echoer{}, MaxOutput: 1 << 20, Tick: time.Millisecond},
		func(t *testing.T, s *site) {
			c := s.dial(t)
			for i := range 200 {
				ask := "AbCd"[i%4]
				c.send(string(ask))
				for _, want := range []byte{ask, '!'} {
					got, err := c.r.ReadByte()
					if err != nil || got != want {
						t.Fatalf("round %d: %q, %v, want %q", i, got, err, want)
					}
				}
			}
		})
}
