package jwt

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// vectorsModule has Wycheproof's vectors, at an exact version: they are not of this repository.
const vectorsModule = "github.com/c2sp/wycheproof@v0.0.0-20260902155932-3fa63dd0344a"

// readVectors reads a file of Wycheproof's. Without the module the test is skipped, unless
// HOTROW_TEST_REQUIRE names wycheproof.
func readVectors(t *testing.T, name string) (file struct {
	TestGroups []struct {
		Comment         string
		Private, Public json.RawMessage
		Tests           []struct {
			TcID                 int
			Comment, Result, Jws string
		}
	}
}) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", vectorsModule)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var module struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("HOTROW_TEST_REQUIRE"), ","), "wycheproof") {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("%s is not available: %v", vectorsModule, err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "testvectors_v1", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// keysOf returns the keys of a group: one, or a set.
func keysOf(t *testing.T, group json.RawMessage) []Key {
	t.Helper()
	if !strings.Contains(string(group), `"keys"`) {
		group = json.RawMessage(`{"keys":[` + string(group) + `]}`)
	}
	keys, refused, err := ParseSet(group, nil, true)
	if err != nil {
		t.Logf("%v %v", err, refused)
	}
	return keys
}

// accepts reports whether a JWS is signed by one of keys, whatever it says.
func accepts(keys []Key, jws string) bool {
	tok, err := parse(jws)
	if err != nil {
		return false
	}
	v := &Verifier{}
	return v.signed(&Keys{list: keys}, &tok) == nil
}

// stricter are vectors that Wycheproof calls valid and that are refused here.
var stricter = map[string]string{
	"emptyPayload":                      "no JWT is empty",
	"InvalidCharacterInsertedInHeader":  "? is no character of base64url: the vector takes who passes over it",
	"InvalidCharacterInsertedInPayload": "the same",
	"Figure20":                          "the key says PS256, the token PS384",
	"Figure27":                          "the key says ES521, which is no algorithm",
}

// looser are vectors that Wycheproof calls invalid and that are not refused here.
var looser = map[string]string{
	"rejectsKeyWithRocaVulnerability": "whoever names a key answers for how it was made",
	"rejectsValid":                    "a set may have secrets beside public keys: each has algorithms of its own",
	"invalidBase64Padding":            "its text is that of vector 357, which is valid",
	"invalidBase64PaddingInPayload":   "the same",
}

// TestWycheproof_Signatures: every vector for JWS has the answer that is asked for, but those that
// are named above.
func TestWycheproof_Signatures(t *testing.T) {
	for name, least := range map[string]int{"json_web_signature_test.json": 401, "json_web_key_test.json": 26} {
		ran, differs := 0, make(map[string]bool)
		for _, g := range readVectors(t, name).TestGroups {
			group := g.Public
			if group == nil {
				group = g.Private
			}
			keys := keysOf(t, group)
			for _, v := range g.Tests {
				ran++
				got := accepts(keys, v.Jws)
				switch want := v.Result == "valid"; {
				case got == want:
				case want && stricter[v.Comment] != "", !want && looser[v.Comment] != "":
					differs[v.Comment] = true
				default:
					t.Errorf("%s %d %s (%s): accepted %v, want %s: %.80s", name, v.TcID, v.Comment, g.Comment,
						got, v.Result, v.Jws)
				}
			}
		}
		if ran < least {
			t.Errorf("%s has %d vectors, want %d", name, ran, least)
		}
		t.Logf("%s: %d vectors; different on purpose: %v", name, ran, differs)
	}
}
