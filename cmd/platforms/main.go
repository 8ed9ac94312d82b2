// Command platforms checks the types of every package of the module and of its tests as
// they are on other platforms, from source:
//
//	go run ./cmd/platforms linux/386 windows/amd64
//
// What differs between platforms before machine code is made is which files belong to a
// package, which packages the standard library has, and how wide words are. The compiler's
// own type checker sees all three, in a few seconds a platform where compiling takes
// minutes. A function without a body needs an assembly file beside it, as for the compiler.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// A pack is a package as go list prints it.
type pack struct {
	Dir, ImportPath string
	ForTest         string // the package whose test this variant is compiled for
	Standard        bool
	DepOnly         bool // it is here only because another one imports it
	GoFiles, SFiles []string
	ImportMap       map[string]string
	Error           *struct{ Err string }
}

func main() {
	results := make([]error, len(os.Args)-1)
	cache := &files{set: token.NewFileSet(), parsed: map[string]func() (*ast.File, error){}}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, platform := range os.Args[1:] {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			n, err := check(platform, cache)
			if err == nil {
				fmt.Printf("%s: %d packages and variants for tests\n", platform, n)
			}
			results[i] = err
		})
	}
	wait.Wait()
	if err := errors.Join(results...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check type-checks everything for GOOS/GOARCH and returns how many packages those were.
func check(platform string, cache *files) (int, error) {
	system, machine, ok := strings.Cut(platform, "/")
	sizes := types.SizesFor("gc", machine)
	if !ok || sizes == nil {
		return 0, fmt.Errorf("%q is not a platform: GOOS/GOARCH is wanted", platform)
	}
	list, err := packages(system, machine)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", platform, err)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	var faults []error
	report := func(err error) {
		if len(faults) < 20 {
			faults = append(faults, fmt.Errorf("%s: %w", platform, err))
		}
	}
	n := 0
	for _, p := range list {
		if done[p.ImportPath] != nil {
			continue
		}
		if p.Error != nil {
			report(errors.New(p.Error.Err))
			continue
		}
		parsed, err := cache.parse(p)
		if err != nil {
			report(err)
			continue
		}
		if p.bodies() {
			n++
			for _, f := range parsed {
				p.bodiless(f, cache.set, report)
			}
		}
		config := types.Config{
			Importer:         importer(func(path string) *types.Package { return done[p.resolve(path)] }),
			Sizes:            sizes,
			IgnoreFuncBodies: !p.bodies(),
			FakeImportC:      true,
			Error:            report,
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		done[p.ImportPath], _ = config.Check(path, cache.set, parsed, nil)
	}
	return n, errors.Join(faults...)
}

// packages lists the packages of the module, their tests, and all that they import, each
// behind what it imports.
func packages(system, machine string) ([]*pack, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-test",
		"-json=Dir,ImportPath,ForTest,Standard,DepOnly,GoFiles,SFiles,ImportMap,Error", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var list []*pack
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		p := new(pack)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(p.ImportPath, ".test") { // these are written by go test
			list = append(list, p)
		}
	}
}

// bodies reports whether functions are checked too: those of the module's packages, and
// of a package compiled once more for a test where the test's files are in it.
func (p *pack) bodies() bool {
	path, _, variant := strings.Cut(p.ImportPath, " ")
	return !p.DepOnly && !p.Standard && (!variant || path == p.ForTest || path == p.ForTest+"_test")
}

// resolve returns what an import in p's files is called in the list.
func (p *pack) resolve(path string) string {
	if to := p.ImportMap[path]; to != "" {
		return to
	}
	return path
}

// bodiless reports the functions of a file that have no body, if no assembly belongs to p.
func (p *pack) bodiless(f *ast.File, set *token.FileSet, report func(error)) {
	if len(p.SFiles) > 0 {
		return
	}
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body == nil && !linked(f, fn.Name.Name) {
			report(fmt.Errorf("%s: %s has no body, and the package no assembly", set.Position(fn.Pos()), fn.Name.Name))
		}
	}
}

// linked reports whether a comment gives the function the name of another one.
func linked(f *ast.File, name string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname "+name+" ") {
				return true
			}
		}
	}
	return false
}

type importer func(path string) *types.Package

func (get importer) Import(path string) (*types.Package, error) {
	if p := get(path); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s here", path)
}

// files parses each file once, for all platforms.
type files struct {
	set    *token.FileSet
	lock   sync.Mutex
	parsed map[string]func() (*ast.File, error)
}

func (c *files) parse(p *pack) (out []*ast.File, err error) {
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		c.lock.Lock()
		once := c.parsed[path]
		if once == nil {
			once = sync.OnceValues(func() (*ast.File, error) {
				return parser.ParseFile(c.set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
			})
			c.parsed[path] = once
		}
		c.lock.Unlock()
		f, err := once()
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
