package fallback

import "testing"

func TestWithheld(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"cookie": true, "X-Forwarded-For": true, "forwarded": true,
		"hotrow-min-position": true, "HOST": true, "te": true, "X-HTTP-Method-Override": true, "x-real-ip": true,
		"X-Tenant": false, "Prefer": false, "X-Client-Info": false} {
		if Withheld(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}
