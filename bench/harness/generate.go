package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/bench/load"
)

// GenerateCommand is the argument that makes the bench the generator.
const GenerateCommand = "generate"

// An order is what the generator is told: what to ask for, what an answer to a
// read must begin with, and what it must hold, {n} being the key.
type order struct {
	Config         load.Config
	Expect, Within string
}

// check returns what looks at an answer; nil if nothing is said of it.
func (o *order) check() func(load.Answer) error {
	if o.Expect == "" && o.Within == "" {
		return nil
	}
	return func(a load.Answer) error {
		key := strconv.FormatInt(a.Key, 10)
		want := strings.ReplaceAll(o.Expect, "{n}", key)
		within := strings.ReplaceAll(o.Within, "{n}", key)
		if !bytes.HasPrefix(a.Body, []byte(want)) || !bytes.Contains(a.Body, []byte(within)) {
			return fmt.Errorf("the answer is %.60q, want %q and %q in it", a.Body, want, within)
		}
		return nil
	}
}

// Generate is the generator: a process of its own, so that it can have a core
// of its own. It reads an order and writes a load.Result.
func Generate(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	o.Config.Check = o.check()
	result, err := load.Run(ctx, o.Config)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

// loadFrom starts the generator where a placement wants it and returns what it
// has measured.
func loadFrom(ctx context.Context, p Placement, o order) (*load.Result, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	total := o.Config.Warmup + o.Config.Duration + o.Config.Timeout + Patience
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	args := []string{self, GenerateCommand}
	if p == Pinned {
		args = append([]string{"taskset", "-c", "1"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = ChildAttributes()
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("generator: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	result := new(load.Result)
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return result, nil
}
