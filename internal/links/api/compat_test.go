package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/hotrow/hotrow/internal/links"
)

const testSecret = "a secret of the test, long enough"

// newCompat opens a bed with the endpoints of shortcut.
func newCompat(t *testing.T) *bed {
	t.Helper()
	b := newBed(t, links.Options{}, nil)
	sc, err := NewShortcut(b.db, []byte(testSecret))
	if err != nil {
		t.Fatal(err)
	}
	b.h.o.Shortcut = sc
	return b
}

// register makes an account and returns the header that its requests have.
func (b *bed) register(email string) string {
	b.t.Helper()
	a := b.do("POST", "/auth/new", fmt.Sprintf(
		`{"email":%q,"firstName":"D","lastName":"K","password":"correct horse"}`, email))
	if a.status != 200 || a.member("message") != "registerd" || a.member("success") != "true" ||
		a.member("email") != email || a.member("firstName") != "D" {
		b.t.Fatalf("register: %d %s", a.status, a.body)
	}
	return "Bearer " + a.member("jwt")
}

// expect makes a request of shortcut's and checks the status and the code.
func (b *bed) expect(status, code int, method, path, body string, headers ...string) answer {
	b.t.Helper()
	a := b.do(method, path, body, headers...)
	want := ""
	if code != 0 {
		want = fmt.Sprint(code)
	}
	if a.status != status || a.member("code") != want || !strings.HasPrefix(
		a.header.Get("Content-Type"), "application/json") {
		b.t.Errorf("%s %s %.200s: %d %s; want %d and code %d", method, path, body, a.status, a.body,
			status, code)
	}
	return a
}

func TestShortcut_ItsClientsGoOn(t *testing.T) {
	b := newCompat(t)
	me := b.register("me@example.com")
	b.expect(400, 1003, "POST", "/auth/new",
		`{"email":"ME@example.com","firstName":"","lastName":"","password":"correct horse"}`)
	a := b.expect(200, 0, "POST", "/auth", `{"email":"me@example.com","password":"correct horse"}`)
	if a.member("message") != "authenticated" || a.member("jwt") == "" {
		t.Errorf("login %s", a.body)
	}
	b.expect(401, 1008, "POST", "/auth", `{"email":"me@example.com","password":"wrong"}`)
	b.expect(401, 1008, "POST", "/auth", `{"email":"nobody@example.com","password":"wrong"}`)
	a = b.expect(201, 0, "POST", "/api/shortcuts", `{"shortIdentifier":"htl-viladsfb",
		"redirectURL":"https://example.com/a","redirectStatus":301,"validThru":"2036-03-01T12:00:00Z"}`,
		"Authorization", me)
	if a.member("message") != "created" || a.member("id") == "" {
		t.Errorf("created %s", a.body)
	}
	path := "/api/shortcuts/" + a.member("id")
	a = b.expect(200, 0, "GET", path, "", "Authorization", me)
	var doc map[string]any
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || doc["shortIdentifier"] !=
		"htl-viladsfb" || doc["redirectURL"] != "https://example.com/a" || doc["redirectStatus"] != 301.0 ||
		doc["validThru"] != "2036-03-01T12:00:00Z" || doc["UserID"] == nil || doc["createdAt"] == nil {
		t.Errorf("read %s, %v", a.body, err)
	}
	// Sent back as it was read: a change of nothing is done.
	for range 2 {
		b.expect(200, 0, "PUT", path, a.body, "Authorization", me)
	}
	b.expect(200, 0, "PUT", path, `{"redirectURL":"https://example.com/b"}`, "Authorization", me)
	list := b.do("GET", "/api/shortcuts?page=0", "", "Authorization", me)
	if !strings.HasPrefix(list.body, `[{"id":`) || !strings.Contains(list.body, "https://example.com/b") {
		t.Errorf("list %s", list.body)
	}
	b.expect(400, 1007, "GET", "/api/shortcuts?page=x", "", "Authorization", me)
	if a := b.do("GET", "/api/shortcuts?page=1", "", "Authorization", me); a.body != "[]\n" {
		t.Errorf("the page behind the last: %s", a.body)
	}
	b.expect(200, 0, "GET", "/api/user", "", "Authorization", me)
	other := b.register("other@example.com")
	for _, method := range []string{"GET", "DELETE"} {
		b.expect(404, 1002, method, path, "", "Authorization", other)
	}
	b.expect(404, 1002, "PUT", path, `{"redirectURL":"https://evil.example"}`, "Authorization", other)
	if a := b.do("GET", "/api/shortcuts", "", "Authorization", other); a.body != "[]\n" {
		t.Errorf("somebody else's links: %s", a.body)
	}
	a = b.expect(200, 0, "DELETE", path, "", "Authorization", me)
	if a.member("message") != "deleted" {
		t.Errorf("deleted %s", a.body)
	}
	b.expect(404, 1002, "GET", path, "", "Authorization", me)
}

// critical returns a token whose header says what must be understood (RFC 7515
// 4.1.11): nothing of that is.
func critical(names []string, soon int64) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"ID": 1, "exp": soon})
	token.Header["crit"] = names
	text, _ := token.SignedString([]byte(testSecret)) // else the test fails
	return text
}

// respelled returns a token whose signature has the same bytes and ends with
// another letter: of the last one four bits of six are signed (RFC 4648 3.5).
func respelled(token string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(letters, token[len(token)-1])
	return token[:len(token)-1] + string(letters[last^1])
}

func TestShortcut_Tokens(t *testing.T) {
	b := newCompat(t)
	me := strings.TrimPrefix(b.register("me@example.com"), "Bearer ")
	sign := func(m jwt.SigningMethod, key any, c jwt.MapClaims) string {
		s, err := jwt.NewWithClaims(m, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	soon := time.Now().Add(time.Hour).Unix()
	good := sign(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"ID": 1, "exp": soon})
	b.expect(200, 0, "GET", "/api/user", "", "Authorization", "Bearer "+good)
	for name, token := range map[string]string{
		"another secret": sign(jwt.SigningMethodHS256, []byte("another"), jwt.MapClaims{"ID": 1, "exp": soon}),
		"no expiry":      sign(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"ID": 1}),
		"expired":        sign(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"ID": 1, "exp": 1}),
		"no user":        sign(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"exp": soon}),
		"nobody":         sign(jwt.SigningMethodHS256, []byte(testSecret), jwt.MapClaims{"ID": 99, "exp": soon}),
		"another method": sign(jwt.SigningMethodHS384, []byte(testSecret), jwt.MapClaims{"ID": 1, "exp": soon}),
		"none": sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType,
			jwt.MapClaims{"ID": 1, "exp": soon}),
		"nonsense": "x.y.z", "a bit less": me[:len(me)-2], "padded": good + "=",
		"another spelling": respelled(good),
		"expiry as text": sign(jwt.SigningMethodHS256, []byte(testSecret),
			jwt.MapClaims{"ID": 1, "exp": fmt.Sprint(soon)}),
		"begin as text": sign(jwt.SigningMethodHS256, []byte(testSecret),
			jwt.MapClaims{"ID": 1, "exp": soon, "nbf": "1"}),
		"user as text": sign(jwt.SigningMethodHS256, []byte(testSecret),
			jwt.MapClaims{"ID": "1", "exp": soon}),
		"critical": critical([]string{"exp"}, soon), "critical, unknown": critical([]string{"x"}, soon),
		"critical, nothing": critical(nil, soon),
	} {
		if a := b.do("GET", "/api/shortcuts", "", "Authorization", "Bearer "+token); a.status != 401 ||
			a.member("code") != "1010" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	b.expect(400, 1009, "GET", "/api/shortcuts", "")
	b.expect(400, 1009, "GET", "/api/shortcuts", "", "Authorization", "Basic x")
	b.clock.Add(15 * 24 * 3600)
	b.expect(401, 1010, "GET", "/api/shortcuts", "", "Authorization", "Bearer "+me)
	if _, err := NewShortcut(b.db, []byte("short")); err == nil {
		t.Error("a short secret was taken")
	}
}

// The defects of shortcut that concern its API (links.md 1.6 has their numbers):
// what redirects make of them is tested where redirects are answered.
func TestShortcut_DefectsAreMended(t *testing.T) {
	b := newCompat(t)
	me := b.register("me@example.com")
	make := func(body string) answer {
		return b.do("POST", "/api/shortcuts", body, "Authorization", me)
	}
	refused := func(defect int, body string) {
		t.Helper()
		if a := make(body); a.status != 400 || a.member("code") != "1003" {
			t.Errorf("defect %d: %s: %d %s", defect, body, a.status, a.body)
		}
	}
	// 1: an expiry is kept and is that of the link; one in the past is refused.
	refused(1, `{"shortIdentifier":"a","redirectURL":"https://a.com","validThru":"2019-03-01T00:00:00Z"}`)
	refused(1, `{"shortIdentifier":"a","redirectURL":"https://a.com","validThru":"soon"}`)
	a := make(`{"shortIdentifier":"a","redirectURL":"https://a.com","validThru":"2036-03-01T00:00:00Z"}`)
	if got := b.do("GET", "/api/v1/links/a", ""); got.member("expires_at") != "2036-03-01T00:00:00Z" {
		t.Errorf("defect 1: %s", got.body)
	}
	path := "/api/shortcuts/" + a.member("id")
	// 2 and 3: whoever holds a copy is told of a change, a new name and a deletion.
	told := func(defect int, want ...string) {
		t.Helper()
		for _, w := range want {
			select {
			case got := <-b.changed:
				if got != w {
					t.Errorf("defect %d: told of %s, want %s", defect, got, w)
				}
			default:
				t.Errorf("defect %d: nobody was told of %s", defect, w)
			}
		}
	}
	told(2, "a")
	b.expect(200, 0, "PUT", path, `{"shortIdentifier":"b"}`, "Authorization", me)
	told(3, "a", "b")
	// 4: a change that fails changes nothing.
	make(`{"shortIdentifier":"taken","redirectURL":"https://a.com"}`)
	b.expect(400, 1005, "PUT", path, `{"shortIdentifier":"taken","redirectURL":"https://evil.example"}`,
		"Authorization", me)
	if got := b.do("GET", "/api/v1/links/b", ""); got.member("url") != "https://a.com" {
		t.Errorf("defect 4: %s", got.body)
	}
	told(4, "taken")
	// 5: a link that was followed can be deleted.
	if err := b.db.Exec(t.Context(), "UPDATE link_stats SET clicks = 9"); err != nil {
		t.Fatal(err)
	}
	b.expect(200, 0, "DELETE", path, "", "Authorization", me)
	told(2, "b")
	// 6: an answer is nobody else's, whatever was answered before.
	for range 3 {
		b.expect(404, 1002, "GET", "/api/shortcuts/1x", "", "Authorization", me, "Accept", "application/json")
		b.expect(404, 0, "GET", "/nothing/here", "", "Accept", "application/json")
	}
	// 7: a code that can be made can be read.
	make(`{"shortIdentifier":"x-y_z","redirectURL":"https://a.com"}`)
	b.want(200, "", "GET", "/api/v1/links/x-y_z", "")
	refused(7, `{"shortIdentifier":"x.y","redirectURL":"https://a.com"}`)
	// 8 and 9: statuses and targets are checked.
	for _, status := range []string{"0", "200", "-1", "1000"} {
		refused(8, `{"shortIdentifier":"s","redirectURL":"https://a.com","redirectStatus":`+status+`}`)
	}
	for _, target := range []string{"", "javascript:alert(1)", "/x", "https://s.example/a"} {
		refused(9, `{"shortIdentifier":"s","redirectURL":"`+target+`"}`)
	}
	// 11: one code has one spelling.
	if a := make(`{"shortIdentifier":"X-Y_Z","redirectURL":"https://a.com"}`); a.member("code") != "1011" {
		t.Errorf("defect 11: %s", a.body)
	}
	refused(11, `{"shortIdentifier":"x ","redirectURL":"https://a.com"}`)
	// 14: a charset is no other media type.
	if a := b.do("POST", "/api/shortcuts", `{"shortIdentifier":"cs","redirectURL":"https://a.com"}`,
		"Authorization", me, "Content-Type", "application/json; charset=utf-8"); a.status != 201 {
		t.Errorf("defect 14: %d %s", a.status, a.body)
	}
	b.expect(400, 1000, "POST", "/api/shortcuts", `{}`, "Authorization", me, "Content-Type", "text/plain")
}

// Defect 12: an error of a database is an answer, whichever database it is.
func TestShortcut_DatabaseAway(t *testing.T) {
	b := newCompat(t)
	me := b.register("me@example.com")
	if err := b.db.Exec(t.Context(), "DROP TABLE links"); err != nil {
		t.Fatal(err)
	}
	b.expect(500, 1012, "POST", "/api/shortcuts",
		`{"shortIdentifier":"a","redirectURL":"https://a.com"}`, "Authorization", me)
	b.want(500, "internal", "GET", "/api/v1/links", "")
	a := b.do("GET", "/api/v1/health", "")
	if a.status != http.StatusServiceUnavailable || a.member("status") != "database" {
		t.Errorf("health %d %s", a.status, a.body)
	}
}

func TestShortcut_RegistrationIsChecked(t *testing.T) {
	b := newCompat(t)
	for _, body := range []string{
		`{"email":"nobody","password":"long enough"}`,
		`{"email":"@b","password":"long enough"}`, `{"email":"a@b","password":"` + strings.Repeat("x", 73) + `"}`,
		`{"email":"a@b","password":"long enough","admin":true}`,
		`{"email":"a\u0000@b","password":"long enough"}`,
		`{"email":`,
	} {
		b.expect(400, 1003, "POST", "/auth/new", body)
	}
	for range 20 {
		b.do("POST", "/auth", `{`)
	}
	b.expect(429, 1012, "POST", "/auth", `{"email":"a@b","password":"x"}`)
	b.expect(405, 1012, "GET", "/auth", "")
}

// The errors are shortcut's own, code, status and text.
func TestShortcut_ItsErrors(t *testing.T) {
	b := newCompat(t)
	me := b.register("me@example.com")
	const link = `{"shortIdentifier":"a","redirectURL":"https://example.com/","redirectStatus":301,
		"validThru":"2036-03-01T12:00:00Z"}`
	b.expect(201, 0, "POST", "/api/shortcuts", link, "Authorization", me)
	other := b.expect(201, 0, "POST", "/api/shortcuts", strings.Replace(link, `"a"`, `"b"`, 1), "Authorization", me)
	path := "/api/shortcuts/" + other.member("id")
	for _, c := range []struct {
		status, code       int
		message            string
		method, path, body string
		headers            []string
	}{
		{400, 1000, "Wrong Content-Type in POST request. application/json expected", "POST", "/auth", "{}",
			[]string{"Content-Type", "text/plain"}},
		{404, 1002, "Not found", "GET", "/api/shortcuts/999", "", []string{"Authorization", me}},
		{404, 1002, "Not found", "GET", "/api/shortcuts/x", "", []string{"Authorization", me}},
		{400, 1003, "Malformed JSON body", "DELETE", "/api/shortcuts/x", "", []string{"Authorization", me}},
		{400, 1003, "Malformed JSON body: ", "POST", "/api/shortcuts", "{", []string{"Authorization", me}},
		{400, 1005, "Could not update", "PUT", path, `{"shortIdentifier":"a"}`, []string{"Authorization", me}},
		{400, 1007, "Malformed URL. page must be a number", "GET", "/api/shortcuts?page=x", "",
			[]string{"Authorization", me}},
		{401, 1008, "Credentials do not match", "POST", "/auth", `{"email":"me@example.com","password":"wrong"}`, nil},
		{400, 1009, "Malformed or missing authorization header", "GET", "/api/shortcuts", "", nil},
		{401, 1010, "Unauthorized", "GET", "/api/shortcuts", "", []string{"Authorization", "Bearer x"}},
		{400, 1011, "Shortcut with identifier a already exists", "POST", "/api/shortcuts", link,
			[]string{"Authorization", me}},
		{400, 1012, "password to short", "POST", "/auth/new",
			`{"email":"x@example.com","firstName":"","lastName":"","password":"short"}`, nil},
		{404, 0, "requested page not found", "GET", "/auth/nothing", "", nil},
	} {
		a := b.expect(c.status, c.code, c.method, c.path, c.body, c.headers...)
		if got := a.member("message"); got != c.message && !(strings.HasSuffix(c.message, ": ") &&
			strings.HasPrefix(got, c.message)) || a.member("success") != "false" {
			t.Errorf("%s %s: %s, want %q", c.method, c.path, a.body, c.message)
		}
	}
}
