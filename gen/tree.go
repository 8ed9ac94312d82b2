package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/gen/emit"
	"github.com/sinter-go/sinter/gen/schema"
)

// project is what one run emits, and where to.
type project struct {
	root  string // of the module, in the file system
	files []emit.File
	owned []string // directories of emitted files, below root, slash-separated
	head  []byte   // the line that marks an emitted file
}

// load reads the schema and emits everything in memory.
func load(file, dir string) (*project, error) {
	if dir == "" {
		dir = "."
		if _, mod, err := findModule(dir); err == nil && mod == emit.Module {
			dir = "generated"
		}
	}
	root, module, err := findModule(dir)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	target := emit.Target{Module: module, Dir: filepath.ToSlash(rel), Source: filepath.Base(file)}
	var base *schema.Spec
	if module != emit.Module || target.Dir != "generated" {
		if base, err = schema.Parse("ops.yaml", sinter.Schema, nil); err != nil {
			return nil, fmt.Errorf("gen: the standard schema: %w", err)
		}
	}
	spec, err := schema.Load(file, base)
	if err != nil {
		return nil, err
	}
	p := &project{root: root, owned: emit.Owned(spec, target), head: []byte(target.Header())}
	p.files, err = emit.Files(spec, target)
	return p, err
}

// findModule returns the root directory and the path of the module that dir,
// which need not exist yet, is part of.
func findModule(dir string) (root, module string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", fmt.Errorf("gen: %w", err)
	}
	for d := abs; ; d = filepath.Dir(d) {
		data, err := os.ReadFile(filepath.Join(d, "go.mod"))
		if err == nil {
			if module = modulePath(data); module == "" {
				return "", "", fmt.Errorf("gen: %s has no module line", filepath.Join(d, "go.mod"))
			}
			return d, module, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", "", fmt.Errorf("gen: %w", err)
		}
		if filepath.Dir(d) == d {
			return "", "", fmt.Errorf("gen: %s is not inside a module: found no go.mod there or above", abs)
		}
	}
}

// modulePath returns the path in the module line of a go.mod file, or "".
func modulePath(data []byte) string {
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		if f := strings.Fields(line); len(f) == 2 && f[0] == "module" {
			return strings.Trim(f[1], `"`+"`")
		}
	}
	return ""
}

// change is one difference between the tree and what was emitted.
type change struct {
	path string // below the module's root
	what string // missing, stale or orphaned
	data []byte // nil for an orphan
}

func (c change) String() string { return c.what + " " + c.path }

// compare returns the differences, sorted by path.
func (p *project) compare() ([]change, error) {
	var out []change
	mine := map[string]bool{}
	for _, f := range p.files {
		mine[f.Path] = true
		old, err := os.ReadFile(p.at(f.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, change{f.Path, "missing", f.Data})
		case err != nil:
			return nil, fmt.Errorf("gen: %w", err)
		case !bytes.Equal(old, f.Data):
			out = append(out, change{f.Path, "stale", f.Data})
		}
	}
	for _, dir := range p.owned {
		orphans, err := p.orphans(dir, mine)
		if err != nil {
			return nil, err
		}
		out = append(out, orphans...)
	}
	slices.SortFunc(out, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

func (p *project) at(name string) string { return filepath.Join(p.root, filepath.FromSlash(name)) }

// orphans returns the files of dir that carry the header and are not among mine.
func (p *project) orphans(dir string, mine map[string]bool) ([]change, error) {
	entries, err := os.ReadDir(p.at(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	var out []change
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() || mine[name] {
			continue
		}
		data, err := os.ReadFile(p.at(name))
		if err != nil {
			return nil, fmt.Errorf("gen: %w", err)
		}
		if bytes.Contains(data[:min(len(data), 300)], p.head) {
			out = append(out, change{name, "orphaned", nil})
		}
	}
	return out, nil
}

// apply makes the tree equal to what was emitted.
func (p *project) apply(changes []change) error {
	for _, c := range changes {
		name := p.at(c.path)
		var err error
		if c.data == nil {
			err = os.Remove(name)
		} else if err = os.MkdirAll(filepath.Dir(name), 0o777); err == nil {
			err = os.WriteFile(name, c.data, 0o666)
		}
		if err != nil {
			return fmt.Errorf("gen: %w", err)
		}
	}
	return nil
}
