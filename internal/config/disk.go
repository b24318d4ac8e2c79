package config

import (
	"os"
	"path/filepath"
	"time"
)

// Disk is the cache on disk behind the one in memory. Without a path there is
// none.
type Disk struct {
	Path       string   `yaml:"path" empty:"plain"`
	Max        Size     `yaml:"max" range:"16MiB..64TiB"`
	Batch      int      `yaml:"batch" range:"100..1000000"`
	FlushEvery Duration `yaml:"flush_every" range:"10ms..1m"`
	Verify     string   `yaml:"verify" oneof:"lazy open"`
}

// defaultDisk is the cache on disk of an empty file.
func defaultDisk() Disk {
	return Disk{Max: 20 << 30, Batch: 10_000, FlushEvery: Duration(time.Second), Verify: "lazy"}
}

const pathDisk = "cache.disk.path"

// DiskPath returns the file of the cache on disk, "" for none: relative to the
// configuration that names it.
func (c *Config) DiskPath() string {
	if c.Cache.Disk.Path == "" {
		return ""
	}
	return c.relative(pathDisk, c.Cache.Disk.Path)
}

// diskWithout checks that nothing is said of a disk that is not there.
func (v *validator) diskWithout() {
	d, none := v.c.Cache.Disk, defaultDisk()
	for _, e := range []struct {
		key  string
		said bool
	}{
		{"max", d.Max != none.Max}, {"batch", d.Batch != none.Batch},
		{"flush_every", d.FlushEvery != none.FlushEvery}, {"verify", d.Verify != none.Verify},
	} {
		if e.said {
			v.addf("cache.disk."+e.key, "needs %s, too: the file of the cache on disk, such as "+
				"/var/lib/hotrow/cache.db", pathDisk)
		}
	}
}

// disk checks cache.disk. The file itself is made or mended when it is opened.
func (v *validator) disk() {
	path := v.c.DiskPath()
	if path == "" {
		v.diskWithout()
		return
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		v.addf(pathDisk, "want a file, and %s is none: name a file in it, such as %s", path,
			filepath.Join(path, "cache.db"))
		return
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		v.addf(pathDisk, "there is no directory %s: mkdir -p %s", dir, dir)
	}
}
