// Command deb makes the Debian package alone, of what deploy/goreleaser.yaml says about
// packages and by the library that goreleaser itself uses: seconds, where a release takes
// minutes. So a test can install it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format
	"github.com/goreleaser/nfpm/v2/files"
	"gopkg.in/yaml.v3"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("deb: ")
	binary := flag.String("binary", "", "the program")
	arch := flag.String("arch", "", "its architecture, as Debian says it")
	version := flag.String("version", "", "the version")
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "", "the package")
	flag.Parse()
	if err := os.Chdir(*root); err != nil { // what the file names is relative to it
		log.Fatal(err)
	}
	info, err := described("deploy/goreleaser.yaml")
	if err != nil {
		log.Fatalf("read what the package is: %v", err)
	}
	info.Name, info.Arch, info.Version = "hotrow", *arch, *version
	info.Contents = append(info.Contents, &files.Content{
		Source: *binary, Destination: "/usr/bin/hotrow", FileInfo: &files.ContentFileInfo{Mode: 0o755},
	})
	if err := write(info, *out); err != nil {
		log.Fatalf("make %s: %v", *out, err)
	}
}

// described returns what the first of the packages in a configuration of goreleaser is,
// but for what goreleaser alone knows.
func described(file string) (*nfpm.Info, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all struct {
		NFPMs []map[string]any `yaml:"nfpms"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if len(all.NFPMs) == 0 {
		return nil, fmt.Errorf("%s has no nfpms", file)
	}
	for _, own := range []string{"id", "ids", "formats", "mtime"} {
		delete(all.NFPMs[0], own)
	}
	if text, err = yaml.Marshal(all.NFPMs[0]); err != nil {
		return nil, err
	}
	config, err := nfpm.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return config.Get("deb")
}

// write makes the package.
func write(info *nfpm.Info, out string) error {
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := packager.Package(info, f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
