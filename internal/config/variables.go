package config

// A Variable is one of the environment that hotrow reads.
type Variable struct {
	Name string
	Key  string // the key of the file that it overrides or stands in for; or
	Flag string // the flags of commands that it stands in for: "get --token, x --token"
}

// Those that have not the form HOTROW_SECTION_KEY: of keys, where neither the file
// nor another variable says anything, and of the commands that speak to a server.
var otherVariables = []Variable{
	{Name: envPort, Key: "http.listen"},
	{Name: envDatabase, Key: "sources.main.url"},
	{Name: "HOTROW_URL", Flag: "get --server"},
	{Name: "HOTROW_TOKEN", Flag: "get --token, invalidate --token, top --token"},
	{Name: "HOTROW_OPS", Flag: "get --ops, invalidate --ops, top OPS"},
	{Name: "HOTROW_LINKS_URL", Flag: "links --server"},
	{Name: "HOTROW_LINKS_KEY", Flag: "links --key"},
}

// Variables lists every variable that any command reads, but those of ${NAME} in a
// file and those of the databases' own programs. What is none of them and begins
// with HOTROW_ is told as unknown.
func Variables() []Variable {
	list := append([]Variable(nil), otherVariables...)
	for _, k := range Keys() {
		if k.Env != "" {
			list = append(list, Variable{Name: k.Env, Key: k.Path})
		}
	}
	return list
}
