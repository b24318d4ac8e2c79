package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// shortcutSQL has tables as shortcut makes them, and rows as it leaves them: the link
// of its benchmark, one that has expired, one whose status is none, and hits whose
// addresses have ports. The password is asdf1234.
const shortcutSQL = `
CREATE TABLE Users (ID int AUTO_INCREMENT PRIMARY KEY, Email char(50) NOT NULL UNIQUE,
	Firstname varchar(50) NOT NULL, Lastname varchar(50) NOT NULL, passwordHash binary(60) NOT NULL,
	CreatedAt datetime NOT NULL, UpdatedAt datetime NOT NULL, LastLogin datetime NOT NULL);
CREATE TABLE Shortcuts (ID int AUTO_INCREMENT PRIMARY KEY, ShortIdentifier char(50) NOT NULL UNIQUE,
	RedirectURL varchar(1024) NOT NULL, RedirectStatus int NOT NULL, CreatedAt datetime NOT NULL,
	UpdatedAt datetime NOT NULL, ValidThru datetime NOT NULL, UserID int NOT NULL,
	FOREIGN KEY (UserID) REFERENCES Users (ID));
CREATE TABLE ShortcutLog (ShortcutID int, IPAddress varchar(39), UserAgent text, Region varchar(40),
	AccessedAt datetime, ResponseTime int, FOREIGN KEY (ShortcutID) REFERENCES Shortcuts (ID));
INSERT INTO Users VALUES
	(7, 'ana@example.com', 'Ana', 'O''Neil', '$2a$04$EaPtck.s8CLw8.XrGHfOdOwyyJzMzNMuZyDYdbh3eRb4fRtNsfQXO',
		'2018-08-18 16:05:17', '2019-11-30 01:15:54', '2020-04-10 01:37:50'),
	(11, 'bob@example.com', 'Bob', 'B', 'wk0FFx', '2018-08-18 16:05:17', '2019-11-30 01:15:54',
		'2020-04-10 01:37:50');
INSERT INTO Shortcuts VALUES
	(200, 'asdf', 'https://davidkroell.github.io', 301, '2019-03-01 10:00:00', '2019-03-01 10:00:00',
		'2036-01-01 00:00:00', 7),
	(201, 'old', 'https://example.com/old', 302, '2019-03-01 10:00:00', '2019-03-01 10:00:00',
		'2019-04-01 00:00:00', 7),
	(202, 'htl-villach', 'https://example.com/?a=1&b=2', 0, '2019-03-01 10:00:00', '2019-03-01 10:00:00',
		'2036-01-01 00:00:00', 11),
	(203, 'bad', 'javascript:alert(1)', 302, '2019-03-01 10:00:00', '2019-03-01 10:00:00',
		'2036-01-01 00:00:00', 11);
INSERT INTO ShortcutLog VALUES
	(200, '203.0.113.9:4711', 'Mozilla/5.0 (X11; Linux x86_64; rv:65.0) Gecko/20100101 Firefox/65.0', '',
		'2019-03-02 11:00:00', 950),
	(200, '203.0.113.9:4712', 'Mozilla/5.0 (X11; Linux x86_64; rv:65.0) Gecko/20100101 Firefox/65.0', '',
		'2019-03-03 11:00:00', 950),
	(200, '[2001:db8::1]:80', 'curl/7.64.0', '', '2019-03-03 12:00:00', 950),
	(201, '203.0.113.9:4713', 'Mozilla/5.0 (X11; Linux x86_64; rv:65.0) Gecko/20100101 Firefox/65.0', '',
		'2019-03-03 12:00:00', 950),
	(203, '203.0.113.9:4714', 'Mozilla/5.0', '', '2019-03-03 12:00:00', 950);`

// moved starts a shortener as the page says, and makes the key of the move.
func moved(t *testing.T) *running {
	dir := t.TempDir()
	file := configFile(t, "version: 1\nlinks:\n  database: 'sqlite:"+dir+"/l.db'\n"+
		"  jwt_secret: 0123456789abcdef0123\n  log: {dir: '"+dir+"/clicks', max: 64MiB}\n")
	r := serve(t, "-c", file)
	t.Setenv("HOTROW_LINKS_KEY", strings.TrimSpace(
		mustCommand(t, "links", "key", "add", "mover", "--role=admin", "-c", file)))
	until(t, r.log, func() bool { // the server looks for keys of others every 5 s
		code, _, _ := command(t, "links", "ls", "--server="+r.linksAddr())
		return code == 0
	})
	return r
}

// The commands of "Coming from shortcut" take over what shortcut has left in a real
// MariaDB: once from mysqldump's file, once from the database itself.
func TestLinksImport_FromShortcut(t *testing.T) {
	db := dbtest.MariaDB(t, dbtest.Setup(shortcutSQL))
	dump := filepath.Join(t.TempDir(), "shortcut.sql")
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), dbtest.Program(t, "mariadb-dump", "mariadb-client"),
		"--host="+u.Hostname(), "--port="+u.Port(), "--user="+u.User.Username(), "--protocol=tcp",
		strings.TrimPrefix(u.Path, "/"), "Users", "Shortcuts", "ShortcutLog").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dump, text, 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/howto/coming-from-shortcut.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^    hotrow (links import .*)$`).FindAllStringSubmatch(string(page), -1)
	if len(lines) != 3 {
		t.Fatalf("the page has %d commands", len(lines))
	}
	replace := strings.NewReplacer("shortcut.sql", dump, "mysql://root@127.0.0.1/shortcut", db)
	var r *running
	var base string
	for i, line := range lines {
		if i != 1 { // the dry run and the import are of one server, the database of another
			r = moved(t)
			base = r.linksAddr()
		}
		code, out, told := command(t, append(strings.Fields(replace.Replace(line[1])), "--server="+base)...)
		if code != 1 || !strings.Contains(out, "bad") || !strings.Contains(out, "a link cannot lead to javascript:") ||
			!strings.Contains(told, "2 users, 3 links and 4 hits") ||
			!strings.Contains(told, "1 link had expired, which shortcut never looked at: kept, and off") {
			t.Errorf("%s: exit %d\n%s%s", line[1], code, out, told)
		}
		if i == 0 {
			if list := mustCommand(t, "links", "ls", "--server="+base); strings.Contains(list, "asdf") {
				t.Errorf("a dry run has imported:\n%s", list)
			}
			continue
		}
		checkMoved(t, r)
	}
	// Once more: nothing is counted twice.
	_, out, told := command(t, "links", "import", dump, "--from=shortcut", "--server="+base, "--json")
	if !strings.Contains(out, `"hits":0,"links":0`) || !strings.Contains(out, `"users":0`) {
		t.Errorf("a second run: %s%s", out, told)
	}
}

// checkMoved looks at a shortener after the move.
func checkMoved(t *testing.T, r *running) {
	t.Helper()
	base := r.linksAddr()
	if status, to := follow(t, base+"/asdf"); status != 301 || to != "https://davidkroell.github.io" {
		t.Errorf("asdf leads by %d to %s", status, to)
	}
	if status, _ := follow(t, base+"/old"); status != 404 {
		t.Errorf("old, which is off: %d", status)
	}
	if status, to := follow(t, base+"/htl-villach"); status != 302 || to != "https://example.com/?a=1&b=2" {
		t.Errorf("htl-villach leads by %d to %s", status, to)
	}
	ask := func(method, path, body, token string) map[string]any {
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		var doc map[string]any
		_ = json.Unmarshal(text, &doc) // what is no object has no members
		return doc
	}
	login := ask("POST", "/auth", `{"email":"ana@example.com","password":"asdf1234"}`, "")
	token, _ := login["jwt"].(string)
	if login["message"] != "authenticated" || login["lastName"] != "O'Neil" || token == "" {
		t.Errorf("Ana signs in: %v", login)
	}
	if l := ask("GET", "/api/shortcuts/200", "", token); l["shortIdentifier"] != "asdf" || l["UserID"] != 7.0 ||
		l["validThru"] != "2036-01-01T00:00:00Z" || l["createdAt"] != "2019-03-01T10:00:00Z" {
		t.Errorf("Ana's link: %v", l)
	}
	if l := ask("GET", "/api/shortcuts/202", "", token); fmt.Sprint(l["code"]) != "1002" {
		t.Errorf("Bob's link is Ana's: %v", l)
	}
	bob := ask("POST", "/auth", `{"email":"bob@example.com","password":"wk0FFx"}`, "")
	if fmt.Sprint(bob["code"]) != "1008" {
		t.Errorf("a password that is no hash: %v", bob)
	}
	made := ask("POST", "/api/shortcuts", `{"shortIdentifier":"new","redirectURL":"https://example.com/",
		"redirectStatus":302,"validThru":"2036-01-01T00:00:00Z"}`, token)
	if id, _ := made["id"].(float64); id <= 202 {
		t.Errorf("a new link: %v", made)
	}
	until(t, r.log, func() bool { // what was recorded comes to the database by and by
		stats := mustCommand(t, "links", "stats", "asdf", "--server="+base, "--from=2019-03-01", "--to=2019-03-04")
		return strings.HasPrefix(stats, "2 clicks, 1 bots, 2 visitors")
	})
	if list := mustCommand(t, "links", "ls", "--server="+base, "--json", "old"); !strings.Contains(list,
		`"expires_at":"2019-04-01T00:00:00Z"`) || !strings.Contains(list, `"state":"off"`) {
		t.Errorf("old is %s", list)
	}
}
