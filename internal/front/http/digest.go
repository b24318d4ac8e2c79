package httpfront

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"strings"
)

// digestHeaders are those by which a client says what its body is, so that one that has
// changed on its way is not taken: RFC 9530, RFC 3230, RFC 1864. A body has no content coding
// here, so that a digest of the representation is one of the content.
var digestHeaders = [...]string{"Content-Digest", "Repr-Digest", "Digest", "Content-Md5"}

// checkDigest refuses a body that is not the one of which the header has digests. Those by
// algorithms that are not known are passed over, as the RFCs have it.
func checkDigest(h http.Header, body []byte) error {
	for _, header := range digestHeaders {
		for _, line := range h.Values(header) {
			if header == "Content-Md5" {
				line = "md5=" + line
			}
			for element := range strings.SplitSeq(line, ",") {
				algorithm, text, _ := strings.Cut(strings.TrimSpace(element), "=")
				want := digestOf(algorithm, body)
				if want == nil {
					continue
				}
				got, err := base64.StdEncoding.DecodeString(strings.Trim(text, ": "))
				if err != nil || !bytes.Equal(got, want) {
					return problem{kind: kindBadBody, detail: "the body is not the one whose " +
						header + " was sent", hint: "send the body again"}
				}
			}
		}
	}
	return nil
}

// digestOf returns the digest of a body by an algorithm; nil of one that is not known.
func digestOf(algorithm string, body []byte) []byte {
	switch strings.ToLower(algorithm) {
	case "sha-256":
		sum := sha256.Sum256(body)
		return sum[:]
	case "sha-512":
		sum := sha512.Sum512(body)
		return sum[:]
	case "md5":
		sum := md5.Sum(body)
		return sum[:]
	}
	return nil
}
