package config

// AccessFile returns the path of the access log, "" for standard output. A path
// in the file is relative to the file.
func (c *Config) AccessFile() string {
	if c.Log.AccessFile == "" {
		return ""
	}
	return c.relative("log.access_file", c.Log.AccessFile)
}
