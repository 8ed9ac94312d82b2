// Package addresses checks that no address of Go memory is kept as a number, and that
// no loop leaves one in a variable that lies behind the end of its memory, in the whole
// tree.
package addresses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/sinter-go/sinter/"

// A listed package is what go list says of it.
type listed struct {
	ImportPath, Dir, Export            string
	Standard                           bool
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// list returns all packages of the module and those they need, but for what tests
// need alone, with the compiler's description of each.
func list(t *testing.T) []listed {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,Standard,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, said.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestAddresses checks every file of this platform that imports package unsafe or
// reflect, tests too.
func TestAddresses(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads the whole tree")
	}
	all := list(t)
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	packages := 0
	for _, p := range all {
		if p.Standard || !strings.HasPrefix(p.ImportPath+"/", module) {
			continue
		}
		for _, names := range [][]string{append(p.GoFiles, p.TestGoFiles...), p.XTestGoFiles} {
			c := &checker{pkg: strings.TrimPrefix(p.ImportPath, module), fset: fset}
			if !c.run(t, from, p.Dir, names) {
				continue
			}
			packages++
			for _, line := range c.found {
				t.Error(line)
			}
		}
	}
	if packages < 10 {
		t.Errorf("%d packages use unsafe: go list or the parser did not find them", packages)
	}
}

// run checks the files of a package, and reports whether any of them imports what
// can make numbers of addresses.
func (c *checker) run(t *testing.T, from types.Importer, dir string, names []string) bool {
	var files, risky []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(c.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		for _, i := range f.Imports {
			if i.Path.Value == `"unsafe"` || i.Path.Value == `"reflect"` {
				risky = append(risky, f)
				break
			}
		}
	}
	if len(risky) == 0 {
		return false
	}
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	// What tests alone need has no description: such names are left without a type,
	// and no package of these hands out addresses.
	config := types.Config{Importer: from, FakeImportC: true, Error: func(error) {}}
	_, _ = config.Check(c.pkg, c.fset, files, c.info)
	for _, f := range risky {
		c.file(f)
	}
	return true
}

// TestChecker: what keeps an address as a number is found, and what uses one for a
// moment is not.
func TestChecker(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"header", `func f(v *[6]unsafe.Pointer) []unsafe.Pointer {
			h := [3]uintptr{uintptr(unsafe.Pointer(v)), 6, 6}
			return *(*[]unsafe.Pointer)(unsafe.Pointer(&h))
		}`, []string{"the address of unsafe.Pointer(v) is kept as a number", "numbers ([3]uintptr) are read as pointers ([]unsafe.Pointer)"}},
		{"hidden", `func f(p unsafe.Pointer) unsafe.Pointer {
			bits := uintptr(p)
			return *(*unsafe.Pointer)(unsafe.Pointer(&bits))
		}`, []string{"the address of p is kept as a number", "numbers (uintptr) are read as pointers (unsafe.Pointer)"}},
		{"xor", `func f(p unsafe.Pointer) unsafe.Pointer { x := uintptr(p); return unsafe.Pointer(x ^ 0) }`,
			[]string{"the address of p is kept as a number"}},
		{"field", `type s struct{ a uintptr }
		func f(t *s, p unsafe.Pointer) { t.a = uintptr(p) + 8 }`, []string{"the address of p is kept as a number"}},
		{"argument", `func f(p unsafe.Pointer) { g(uintptr(p)) }
		func g(uintptr)`, []string{"the address of p is kept as a number"}},
		{"named", `type address uintptr
		func f(p unsafe.Pointer) address { return address(p) }`, []string{"the address of p is kept as a number"}},
		{"widened", `func f(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }`, []string{"the address of p is kept as a number"}},
		{"line", `func f(p unsafe.Pointer) uintptr { return uintptr(p) &^ 63 }`, []string{"the address of p is kept as a number"}},
		{"interface", `func f(a any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&a))[1] }`,
			[]string{"pointers (any) are read as numbers ([2]uintptr)"}},
		{"string", `func f(s string) { *unsafe.StringData(s) = 1 }`, []string{"unsafe.StringData"}},
		{"remainder", `func f(p unsafe.Pointer) (uintptr, int) { return -uintptr(p) & 63, int(uintptr(p)+8) % 64 }`, nil},
		{"distance", `func f(p, q unsafe.Pointer) int { return int(uintptr(p) - uintptr(q)) }`, nil},
		{"compared", `func f(p, q unsafe.Pointer) bool { return uintptr(p) < uintptr(q)+8 }`, nil},
		{"arithmetic", `func f(p unsafe.Pointer) unsafe.Pointer { return unsafe.Pointer(uintptr(p) + 8) }`, nil},
		{"number", `func f(n int) uintptr { return uintptr(n) + unsafe.Sizeof(n) }`, nil},
		{"behind the last round", `func f(p unsafe.Pointer, n int) {
			for i := 0; i < n; i++ { *(*byte)(p) = 0; p = unsafe.Add(p, 8) }
			g()
		}
		func g()`, []string{"p may lie behind the end of memory after the last round"}},
		{"post statement", `func f(p unsafe.Pointer, n int) {
			for q := p; n > 0; n, q = n-1, unsafe.Add(q, 8) { *(*byte)(q) = 0 }
		}`, []string{"q may lie behind the end of memory after the last round"}},
		{"two at once", `func f(p, q unsafe.Pointer, n int) {
			for range n { *(*byte)(p) = *(*byte)(q); p, q = unsafe.Add(p, 8), unsafe.Add(q, 8) }
		}`, []string{"p may lie behind the end of memory after the last round", "q may lie behind the end of memory after the last round"}},
		{"part of a variable", `type s struct{ p *byte; list []unsafe.Pointer }
		func f(t *s, n int) {
			for range n {
				t.p = (*byte)(unsafe.Add(unsafe.Pointer(t.p), 8))
				for j := range t.list { t.list[j] = unsafe.Pointer(uintptr(t.list[j]) + 8) }
			}
			for j := range t.list { t.list[j] = unsafe.Add(t.list[j], 8) }
		}`, []string{"t.list[j] may lie behind the end of memory after the last round"}},
		{"unless nil", `func f(p unsafe.Pointer, n int) {
			for range n {
				if p != nil { p = unsafe.Add(p, 8) }
			}
		}`, []string{"p may lie behind the end of memory after the last round"}},
		{"guarded outside", `func f(p unsafe.Pointer, n int) {
			if n > 0 {
				for range n { p = unsafe.Add(p, 8) }
			}
		}`, []string{"p may lie behind the end of memory after the last round"}},
		{"down to nothing", `func f(p unsafe.Pointer, n int) {
			for ; n > 0; n-- { p = unsafe.Add(p, 8) }
		}`, []string{"p may lie behind the end of memory after the last round"}},
		{"safe rounds", `type s struct{ p unsafe.Pointer }
		func f(base unsafe.Pointer, t *s, n int) {
			for i := range n { p := unsafe.Add(base, i*8); *(*byte)(p) = 0; t.p = unsafe.Add(base, i*8); g(t) }
			for rest, p := n, base; rest > 0; {
				*(*byte)(p) = 0
				if rest--; rest == 0 { break }
				p = unsafe.Add(p, 8)
			}
			for i, p := 0, base; i < n; i++ {
				if i+1 < n { p = unsafe.Add(p, 8) }
			}
			for ; n > 4; n -= 4 { base = unsafe.Add(base, 32) }
			*(*byte)(base) = 0
		}
		func g(*s)`, nil},
		{"bits", `func f(x float64) uint64 { return *(*uint64)(unsafe.Pointer(&x)) }`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &checker{pkg: "p", fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
			f, err := parser.ParseFile(c.fset, "p.go", "package p\nimport \"unsafe\"\n"+tt.body, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (&types.Config{Importer: importer.Default()}).Check("p", c.fset, []*ast.File{f}, c.info); err != nil {
				t.Fatal(err)
			}
			c.file(f)
			var got []string
			for _, line := range c.found {
				_, said, _ := strings.Cut(line, ": ")
				got = append(got, said)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
