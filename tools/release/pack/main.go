// Command pack makes a file of a release: a package for Debian (.deb) or of RPM (.rpm), or an
// archive (.tar.gz, .zip). Which one the name of the file says. The same input gives the same
// bytes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// options are what is packed, and where to.
type options struct {
	binary, arch, version, out string
	time                       time.Time // of every file
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("pack: ")
	var o options
	flag.StringVar(&o.binary, "binary", "", "the program")
	flag.StringVar(&o.arch, "arch", "", "its architecture, as Debian says it, for a package")
	flag.StringVar(&o.version, "version", "", "the version, for a package")
	seconds := flag.Int64("time", time.Now().Unix(), "the commit's time, in seconds")
	root := flag.String("root", ".", "the repository")
	flag.StringVar(&o.out, "out", "", "the file")
	flag.Parse()
	o.time = time.Unix(*seconds, 0).UTC()
	err := os.Chdir(*root) // what is packed is relative to it
	if err == nil {
		err = o.pack()
	}
	if err != nil {
		log.Fatalf("make %s: %v", o.out, err)
	}
}

// pack makes the file.
func (o *options) pack() (err error) {
	var write func(*os.File) error
	switch ext := filepath.Ext(o.out); {
	case ext == ".deb":
		write = o.deb
	case ext == ".rpm":
		write = o.rpm
	case strings.HasSuffix(o.out, ".tar.gz"):
		write = o.tar
	case ext == ".zip":
		write = o.zip
	default:
		return fmt.Errorf("a file is a .deb, an .rpm, a .tar.gz or a .zip")
	}
	f, err := os.Create(o.out)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return write(f)
}
