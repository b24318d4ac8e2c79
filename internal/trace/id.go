package trace

const zeros = "00000000000000000000000000000000"

// ID returns the id of the trace that a traceparent names, 32 hexadecimal digits, for logs;
// "" where it is none (W3C Trace Context, section 3.2). It aliases its argument and allocates
// nothing, for the lines of hits need it. A fuzz test holds it equal to the library's.
func ID(traceparent string) string {
	const length = len("00-") + 32 + len("-") + 16 + len("-00")
	s := traceparent
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return ""
	}
	version, id, span, flags := s[:2], s[3:35], s[36:52], s[53:length]
	switch {
	case !isHex(version), !isHex(id), !isHex(span), !isHex(flags):
	case id == zeros, span == zeros[:16], version == "ff":
	case version == "00" && (len(s) > length || flags > "03"): // later versions may have more
	case len(s) > length && s[length] != '-':
	default:
		return id
	}
	return ""
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
