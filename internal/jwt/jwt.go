// Package jwt says what a JSON Web Token (RFC 7519) is worth: signed by a key that is
// trusted, in time, for us, and with which roles.
//
// A token chooses nothing. What may have signed it is bound to each key; keys come from the
// configuration, or from a set (JWKS, RFC 7517) whose address is there. What a header says of
// keys (jwk, jku, x5u, x5c) is not looked at, and extensions that change what a signature
// covers (crit, b64) are refused.
//
// The signatures are those of Go's standard library; the parser is this package's own, for
// it is stricter than those for general use: no member twice, no padding, no other spelling.
package jwt

// A Refusal is why a token is worth nothing. Its text never holds what the token says.
type Refusal uint8

// The refusals, as clients and metrics are told of them.
const (
	Malformed  Refusal = iota // it is no JWT that could be good
	Algorithm                 // no key may be used with its algorithm
	UnknownKey                // no key has its kid
	Signature                 // no key has signed it
	Expired                   // exp has passed
	Early                     // nbf, or iat, is to come
	Issuer                    // iss is another
	Audience                  // aud names others, or nobody
	BadClaims                 // a claim is missing, or is of another type than it must be
	NoKeys                    // the keys are not known now: the token may be good
	refusals                  // how many there are
)

// words are the names of refusals, as metrics have them, and what clients are told.
var words = [refusals][2]string{
	Malformed:  {"malformed", "the token is no JWT in compact form"},
	Algorithm:  {"algorithm", "no key is used with the algorithm of the JWT"},
	UnknownKey: {"unknown_key", "no key has the kid of the JWT"},
	Signature:  {"signature", "the signature of the JWT is wrong"},
	Expired:    {"expired", "JWT expired"},
	Early:      {"early", "JWT not yet valid"},
	Issuer:     {"issuer", "the JWT is of another issuer"},
	Audience:   {"audience", "the JWT is for another audience"},
	BadClaims:  {"claims", "a claim of the JWT is missing, or has the wrong type"},
	NoKeys:     {"no_keys", "the keys that sign JWTs are not known now"},
}

// Error returns what a client is told.
func (r Refusal) Error() string { return words[r][1] }

// Name returns the name that metrics have.
func (r Refusal) Name() string { return words[r][0] }

const (
	maxToken  = 8 << 10 // bytes of a token
	maxDepth  = 16      // of values in a header, in claims, in a set
	maxKid    = 256     // bytes
	maxTried  = 10      // keys for a token without kid
	maxRoles  = 32      // of a token
	maxRole   = 64      // bytes
	maxKeys   = 100     // of a set
	maxSet    = 256 << 10
	minRSA    = 2048 // bits
	maxRSA    = 8192
	minSecret = 32      // bytes
	latest    = 1 << 53 // seconds: a time beyond it is no time
)
