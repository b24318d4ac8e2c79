package httpfront

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/row"
)

// What is compressed: documents and lists that everybody may read, from
// row.MinCoded bytes up. An answer for some only never is: where one body holds
// a secret and text that somebody else chose, the length of the compressed body
// gives the secret away piece by piece (the BREACH attack), also through TLS.
// From what everybody may read there is nothing to be learnt that way.
//
// A document is answered with the copy that memory keeps of it (see
// resource.Resource.AskCopy), plainly while there is none, and so is a list that
// memory keeps. A list that it does not keep is compressed for each answer, by the
// goroutine that answers: reading it from the database costs more.

// accepted is what an Accept-Encoding header lets be sent.
type accepted struct {
	list [row.NumCodings]row.Coding // those better than no coding, the preferred first
	n    int                        // how many they are
	mask uint8                      // a bit for each coding that may be sent at all
}

// plainOnly is what a client takes that says nothing.
var plainOnly = accepted{mask: 1 << row.Identity}

// takes reports whether an answer in coding c may be sent.
func (a *accepted) takes(c row.Coding) bool { return a.mask&(1<<c) != 0 }

// parseAccepted reads the value of Accept-Encoding (RFC 9110 12.5.3) and picks
// among offers, which never have Identity: higher quality first, and of equals
// the one offered first. No coding at all comes last unless the header gives it
// a higher quality by name or by "*". Elements that cannot be read are ignored;
// of a coding named twice the first counts. value may alias a buffer.
func parseAccepted(value string, offers []row.Coding) accepted {
	quality := [row.NumCodings]int{}
	var named [row.NumCodings]bool
	star, starred := 0, false
	for element := range strings.SplitSeq(value, ",") {
		name, params, _ := strings.Cut(element, ";")
		q, ok := httprule.ParseWeight(params)
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || name == "" {
			continue
		}
		if name == "*" && !starred {
			star, starred = q, true
		} else if c, known := row.ParseCoding(name); known && !named[c] {
			quality[c], named[c] = q, true
		}
	}
	for c := range quality {
		if !named[c] {
			quality[c] = star
		}
	}
	var a accepted
	if quality[row.Identity] > 0 || !named[row.Identity] && !starred {
		a.mask = 1 << row.Identity
	}
	for _, c := range offers {
		q := quality[c]
		if q == 0 {
			continue
		}
		a.mask |= 1 << c
		if q < quality[row.Identity] {
			continue
		}
		i := a.n
		for ; i > 0 && quality[a.list[i-1]] < q; i-- {
			a.list[i] = a.list[i-1]
		}
		a.list[i] = c
		a.n++
	}
	return a
}

// noCoding is the answer to who takes neither what there is nor what can be made.
func noCoding() error {
	return problem{kind: kindNotAcceptable,
		detail: "the answer can be sent in no coding that Accept-Encoding takes",
		hint:   "accept identity"}
}

// coded returns the best copy of doc that there is and that a takes, or doc
// itself. Whoever sends it asks for the preferred copy if it is another.
func (a *accepted) coded(doc *row.Document) *row.Document {
	for _, c := range a.list[:a.n] {
		if k := doc.Copy(c); k != nil {
			return k
		}
	}
	return doc
}

// represent returns the representation of a document that is to be sent: the best copy
// that there is, or one that coder makes for a client that takes nothing else. Without a
// coder that is errLater.
func (a *accepted) represent(doc *row.Document, coder *row.Coder) (*row.Document, error) {
	rep := a.coded(doc)
	switch {
	case rep != doc || a.takes(row.Identity):
		return rep, nil
	case a.n == 0:
		return nil, noCoding()
	case coder == nil:
		return nil, errLater
	}
	return row.NewCopy(doc, a.list[0], coder.Append(nil, doc.Body(), a.list[0])), nil
}

// compression returns the codings that are offered, each once.
func compression(list []row.Coding) []row.Coding {
	var offers []row.Coding
	for _, c := range list {
		if c != row.Identity && c < row.NumCodings && !slices.Contains(offers, c) {
			offers = append(offers, c)
		}
	}
	return offers
}

// vary returns the Vary header of documents and lists.
func (s *settings) vary() string {
	names := "Accept"
	if len(s.Compression) > 0 {
		names += ", Accept-Encoding"
	}
	if s.cors.exact() {
		names += ", Origin"
	}
	return names
}
