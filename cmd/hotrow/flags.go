package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotrow/hotrow/internal/row"
)

// variable is the annotation of a flag that a variable of the environment stands in for.
const variable = "variable"

// fromEnvironment has a variable stand in for a flag that is not given.
func fromEnvironment(f *pflag.FlagSet, flag, name string) {
	at := f.Lookup(flag)
	at.Annotations = map[string][]string{variable: {name}}
	at.Usage = fmt.Sprintf("%s ($%s).", strings.TrimSuffix(at.Usage, "."), name)
}

// notEmpty are the flags without which a command is about another database, server or file.
var notEmpty = []string{"config", "direct", "file", "output"}

// complete takes from the environment what the flags do not say. It refuses a flag as the
// value of another one, which lacks its own; with a = before it, it is meant.
func (p *program) complete(f *pflag.FlagSet) error {
	var errs []error
	f.VisitAll(func(flag *pflag.Flag) {
		text := flag.Value.String()
		if flag.Changed && isFlag(f, text) && slices.Contains(p.args, text) {
			errs = append(errs, fmt.Errorf("--%s needs a value, and %s is a flag", flag.Name, text))
		}
		if flag.Changed && text == "" && slices.Contains(notEmpty, flag.Name) {
			errs = append(errs, fmt.Errorf("--%s is empty: is a variable not set?", flag.Name))
		}
		for _, name := range flag.Annotations[variable] {
			if value := p.getenv(name); value != "" && !flag.Changed {
				if err := flag.Value.Set(value); err != nil {
					errs = append(errs, fmt.Errorf("%s %q: %w", name, value, err))
				}
			}
		}
	})
	return errors.Join(errs...)
}

// isFlag reports whether text is one of the flags as it is typed.
func isFlag(f *pflag.FlagSet, text string) bool {
	if name, ok := strings.CutPrefix(text, "--"); ok {
		return f.Lookup(name) != nil
	}
	return len(text) == 2 && text[0] == '-' && f.ShorthandLookup(text[1:]) != nil
}

// takesValue reports whether a flag does: one that switches something on does not.
func takesValue(f *pflag.Flag) bool { return f.NoOptDefVal == "" }

// flagError returns what the library says is wrong with a flag in hotrow's words.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
		}
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		return fmt.Errorf("unknown flag %s%s", name, didYouMean(name, known))
	case errors.As(err, &invalid):
		flag, why := invalid.GetFlag(), invalid.Unwrap()
		if errors.As(why, new(*strconv.NumError)) { // it names a function of Go
			why = errors.New("not a valid " + strings.TrimSuffix(flag.Value.Type(), "Slice"))
		}
		return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), why)
	}
	return err
}

// didYouMean suggests the names that begin with what was typed, or else the nearest.
func didYouMean(typed string, names []string) string {
	var begun []string
	for _, name := range names {
		if strings.HasPrefix(name, typed) && name != typed {
			begun = append(begun, fmt.Sprintf("%q", name))
		}
	}
	if len(begun) == 0 {
		return row.DidYouMean(typed, names)
	}
	return "; did you mean " + strings.Join(begun, " or ") + "?"
}

// A oneOf is the value of a flag, or an argument, that is one of a few words.
type oneOf struct {
	to    *string
	words []string
}

// newOneOf returns one that is value while the flag is not given.
func newOneOf(to *string, value string, words ...string) *oneOf {
	*to = value
	return &oneOf{to, words}
}

// Set implements pflag.Value.
func (o *oneOf) Set(text string) error {
	if !slices.Contains(o.words, text) {
		return fmt.Errorf(`must be one of "%s"%s`, strings.Join(o.words, `","`),
			row.DidYouMean(text, o.words))
	}
	*o.to = text
	return nil
}

func (o *oneOf) String() string { return *o.to }
func (o *oneOf) Type() string   { return "word" }

// An address is the value of a flag, or an argument, that is the URL of a server; HOST:PORT
// is one of http.
type address struct{ to *string }

// newAddress returns one that is value while the flag is not given.
func newAddress(to *string, value string) address {
	*to = value
	return address{to}
}

// Set implements pflag.Value.
func (a address) Set(text string) error {
	bare := !strings.Contains(text, "://")
	if bare {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		bare && u.Port() == "" {
		return errors.New("want http://HOST:PORT")
	}
	*a.to = text
	return nil
}

func (a address) String() string { return *a.to }
func (a address) Type() string   { return "string" } // help quotes its default

// A list is the value of a flag that may be given again and takes several at once, with
// commas between them. \, is a comma within one.
type list struct{ to *[]string }

// Set implements pflag.Value.
func (l list) Set(text string) error {
	const comma = "\x00" // which no argument of a program has
	text = strings.TrimSuffix(strings.ReplaceAll(text, `\,`, comma), ",")
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		*l.to = append(*l.to, strings.ReplaceAll(part, comma, ","))
	}
	return nil
}

func (l list) String() string { return strings.Join(*l.to, ",") }
func (l list) Type() string   { return "list" }
