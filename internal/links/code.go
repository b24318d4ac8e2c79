package links

import (
	"crypto/rand"
	"strings"
	"sync/atomic"
)

const (
	maxCode      = 64 // bytes of a code, given or generated
	maxGenerated = maxCode
)

// reserved are the codes that are paths of ours.
var reserved = []string{"api", "auth", "metrics"}

// Code returns a code as it is stored: folded, unless case counts. The error is
// a *FieldError.
func (r *Rules) Code(code string) (string, error) {
	if code == "" || len(code) > maxCode {
		return "", refuse("code", "it must have 1 to %d characters", maxCode)
	}
	for i := range len(code) {
		c := code[i]
		if !isAlnum(c) && (i == 0 || c != '-' && c != '_') {
			return "", refuse("code", "it must be of ASCII letters, digits, - and _, and begin "+
				"with a letter or a digit")
		}
	}
	folded := strings.ToLower(code)
	for _, word := range reserved {
		if folded == word {
			return "", refuse("code", "%q is a path of hotrow's own", word)
		}
	}
	if r.o.ExactCase {
		return code, nil
	}
	return folded, nil
}

// tries is how many codes of one length are tried before longer ones are.
const tries = 8

// A generator makes codes. When those of its length turn out to be taken it
// goes over to longer ones for good. It may be used by many goroutines.
type generator struct {
	alphabet string
	extra    atomic.Int64 // characters more than were asked for
}

// try returns a random code of length characters or, once shorter ones have
// run out, more. attempt counts the tries for one link, from 0.
func (g *generator) try(length, attempt int) string {
	alphabet := g.alphabet
	length += int(g.extra.Load())
	if attempt > 0 && attempt%tries == 0 {
		g.extra.Add(1)
		length++
	}
	if length > maxGenerated {
		// A small alphabet has run out altogether.
		alphabet, length = DefaultAlphabet, DefaultLength+attempt/tries
	}
	return randomCode(alphabet, min(length, maxGenerated))
}

// randomCode returns length characters of alphabet, each with the same chance:
// bytes that would favour some are thrown away.
func randomCode(alphabet string, length int) string {
	most := 256 - 256%len(alphabet)
	out := make([]byte, 0, length)
	var b [2 * maxGenerated]byte
	for len(out) < length {
		_, _ = rand.Read(b[:]) // it never returns an error
		for _, c := range b {
			if int(c) < most && len(out) < length {
				out = append(out, alphabet[int(c)%len(alphabet)])
			}
		}
	}
	return string(out)
}
