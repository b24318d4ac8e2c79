package config

import (
	"os"
	"strings"
	"testing"
)

// What deploy offers is a configuration that hotrow takes, without a warning.
func TestDeploy_ConfigurationsAreTaken(t *testing.T) {
	const manifest, packaged = "../../deploy/kubernetes/hotrow.yaml", "../../deploy/package/hotrow.yaml"
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "  hotrow.yaml: |\n")
	block, _, ended := strings.Cut(block, "\n---\n")
	if !found || !ended {
		t.Fatalf("%s holds no configuration", manifest)
	}
	var inPod strings.Builder
	for line := range strings.Lines(block) {
		inPod.WriteString(strings.TrimPrefix(line, "    "))
	}
	installed, err := os.ReadFile(packaged)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"DATABASE_URL=postgres://hotrow@postgres/app",
		"APP_TOKEN_SHA256=" + strings.Repeat("9f", 32)}
	for name, text := range map[string]string{manifest: inPod.String(), packaged: string(installed)} {
		c, warnings, err := Parse(name, text, env)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%v %v", err, warnings)
			continue
		}
		if name == manifest && (len(c.Resources) != 1 || len(c.Auth.Tokens) != 1) {
			t.Errorf("%s has %d resources and %d tokens", name, len(c.Resources), len(c.Auth.Tokens))
		}
	}
}
