package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A composeFile is the part of deploy/compose/compose.yaml that is used there. What is not
// here is refused, so that a mistyped key is found: no Docker reads the file in the tests.
type composeFile struct {
	Name     string
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		Command     []string
		Environment map[string]string
		Volumes     []string
		Ports       []string
		Healthcheck struct {
			Test     []string
			Interval string
			Retries  int
		}
		DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
		ReadOnly  bool                                  `yaml:"read_only"`
		CapDrop   []string                              `yaml:"cap_drop"`
		Restart   string
	}
	Volumes map[string]struct{}
}

// TestCompose_ServesTheShop starts hotrow with the arguments and the environment that the
// compose file gives it, in front of a PostgreSQL with the file's settings and rows.
func TestCompose_ServesTheShop(t *testing.T) {
	t.Parallel()
	const dir = "../../deploy/compose"
	text, err := os.ReadFile(filepath.Join(dir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file composeFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	db, hotrow := file.Services["db"], file.Services["hotrow"]
	settings := make(map[string]string)
	for _, arg := range db.Command[1:] {
		if name, value, ok := strings.Cut(arg, "="); ok {
			settings[name] = value
		}
	}
	rows, err := os.ReadFile(filepath.Join(dir, "shop.sql"))
	if err != nil {
		t.Fatal(err)
	}
	url := dbtest.NewPostgres(t, settings).Database(t, dbtest.Setup(string(rows)))

	var env []string
	for name, value := range hotrow.Environment {
		if !strings.HasSuffix(name, "_LISTEN") || value == "off" {
			env = append(env, name+"="+value)
			continue
		}
		_, port, _ := strings.Cut(value, ":")
		if !strings.Contains(strings.Join(hotrow.Ports, " "), ":"+port+":"+port) {
			t.Errorf("%s is %s, and port %s is not published", name, value, port)
		}
		env = append(env, name+"=0.0.0.0:0")
	}
	args := append([]string(nil), hotrow.Command...)
	last := len(args) - 1
	user, name := db.Environment["POSTGRES_USER"], db.Environment["POSTGRES_DB"]
	if want := "postgres://" + user + "@db/" + name + "?sslmode=disable"; args[last] != want ||
		hotrow.Environment["PGPASSWORD"] != db.Environment["POSTGRES_PASSWORD"] {
		t.Errorf("hotrow connects by %s, want %s with the password of db", args[last], want)
	}
	args[last] = url
	r := begin(t, env, args[1:]...)
	at := regexp.MustCompile(`listening proto=http addr=\S+:(\d+)`)
	until(t, r.log, func() bool { return at.MatchString(r.log.String()) })
	base := "http://127.0.0.1:" + at.FindStringSubmatch(r.log.String())[1]
	until(t, r.log, func() bool { return status(base+"/product/1") == http.StatusOK })
	if _, body := get(t, base+"/product/1"); body != `{"id":1,"name":"kettle","price":30}` {
		t.Error(body)
	}
	if strings.Contains(r.log.String(), "unknown") {
		t.Errorf("hotrow does not know a variable:\n%s", r.log)
	}
	for _, s := range file.Services { // what the file names is there
		for _, volume := range s.Volumes {
			if from, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(from, ".") {
				mustExist(t, filepath.Join(dir, from))
			}
		}
		if s.Build.Context != "" {
			mustExist(t, filepath.Join(dir, s.Build.Context, s.Build.Dockerfile))
		}
	}
}

// mustExist fails the test if there is no such file.
func mustExist(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
