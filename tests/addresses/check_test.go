package addresses_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"slices"
)

// pinned says of functions what they turn into numbers, or read numbers as, that is
// no address of Go memory which could move or go.
var pinned = map[string]string{
	"backend/cuda/driver/dl.Frame.Addr":    "the frame's memory is pinned",
	"backend/cuda/driver/dl.Frame.Keep":    "it pins what it is given",
	"backend/cuda/driver/dl.Frame.Bytes":   "the frame's memory is pinned",
	"backend/cuda/driver/dl.Frame.Pointer": "C wrote the pointer",

	"backend/cuda/driver.binding.MemFreeHost": "page-locked memory of the driver's",
	"backend/cuda/gpu.Driver.wordAt":          "page-locked memory, which the driver or its set of it keeps",
	"backend/cuda/gpu.scratch.Trap":           "page-locked memory of the driver's",
	"backend/cuda/launch.loopKey.slot":        "a hash of a descriptor, which is on no stack, and no more than a hint",

	"backend/cuda/driver.TestWaitValue":              "page-locked memory of the driver's",
	"backend/cuda/library/librarytest.at":            "memory that the fake driver keeps",
	"backend/cuda/library/librarytest.host.MemAlloc": "memory that the fake driver keeps",
	"backend/sim.TestMemory":                         "an address that must be refused",
	"tests/conformance.gpuGate.hold":                 "page-locked memory of the driver's",
	"tests/conformance.holdGPU":                      "page-locked memory of the driver's",
}

// A checker finds addresses of Go memory in numbers. Go may move what is on a stack,
// at any call and at any preemption, and frees what nothing points to: a number is
// not corrected, and keeps nothing alive.
type checker struct {
	pkg   string // path of the package in the module
	fset  *token.FileSet
	info  *types.Info
	found []string
}

// file checks one file. Comments are not read: nothing turns the check off.
func (c *checker) file(f *ast.File) {
	var stack []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		if _, exempt := pinned[c.function(stack)]; exempt {
			return true
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			c.conversion(n, stack)
			c.reinterpretation(n)
		case *ast.SelectorExpr:
			c.selector(n)
		case *ast.AssignStmt:
			c.advance(n, stack)
		}
		return true
	})
}

// function names the function that a node is in.
func (c *checker) function(stack []ast.Node) string {
	for _, n := range stack {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil && len(f.Recv.List) == 1 {
			t := f.Recv.List[0].Type
			if s, ok := t.(*ast.StarExpr); ok {
				t = s.X
			}
			if id, ok := t.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		return c.pkg + "." + name
	}
	return ""
}

func (c *checker) report(n ast.Node, format string, args ...any) {
	at := c.fset.Position(n.Pos())
	c.found = append(c.found, fmt.Sprintf("%s/%s:%d: ", c.pkg, path.Base(at.Filename), at.Line)+fmt.Sprintf(format, args...))
}

// conversion reports a pointer that becomes a number, other than for a moment: for
// its remainder, for a comparison or a distance, or for the pointer that the same
// expression makes of it.
func (c *checker) conversion(n *ast.CallExpr, stack []ast.Node) {
	if !c.info.Types[n.Fun].IsType() || len(n.Args) != 1 || !isUintptr(c.typeOf(n)) || !isUnsafe(c.typeOf(n.Args[0])) {
		return
	}
	for i := len(stack) - 2; i >= 0; i-- {
		switch p := stack[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.UnaryExpr:
			if p.Op == token.SUB || p.Op == token.ADD {
				continue
			}
		case *ast.CallExpr:
			if c.info.Types[p.Fun].IsType() {
				if isUnsafe(c.typeOf(p)) {
					return
				}
				continue
			}
		case *ast.BinaryExpr:
			if c.consumes(p) {
				return
			}
			if p.Op == token.ADD || p.Op == token.SUB || p.Op == token.AND_NOT || p.Op == token.AND {
				continue
			}
		}
		break
	}
	c.report(n, "the address of %s is kept as a number", types.ExprString(n.Args[0]))
}

// consumes reports whether the result of an operation on an address is none.
func (c *checker) consumes(p *ast.BinaryExpr) bool {
	switch p.Op {
	case token.REM, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	case token.SUB:
		return c.isAddress(p.X) && c.isAddress(p.Y)
	case token.AND:
		for _, e := range []ast.Expr{p.X, p.Y} {
			if v := c.info.Types[e].Value; v != nil {
				mask, exact := constant.Uint64Val(constant.ToInt(v))
				return exact && mask < 1<<32
			}
		}
	}
	return false
}

// isAddress reports whether an expression is a pointer as a number.
func (c *checker) isAddress(e ast.Expr) bool {
	n, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && len(n.Args) == 1 && c.info.Types[n.Fun].IsType() && isUintptr(c.typeOf(n)) && isUnsafe(c.typeOf(n.Args[0]))
}

// reinterpretation reports memory of numbers that is read as pointers, and memory of
// pointers that is read as numbers of their size.
func (c *checker) reinterpretation(n *ast.CallExpr) {
	if !c.info.Types[n.Fun].IsType() || len(n.Args) != 1 || !isUnsafe(c.typeOf(n.Args[0])) {
		return
	}
	inner, ok := ast.Unparen(n.Args[0]).(*ast.CallExpr)
	if !ok || len(inner.Args) != 1 || !c.info.Types[inner.Fun].IsType() {
		return
	}
	to, from := pointee(c.typeOf(n)), pointee(c.typeOf(inner.Args[0]))
	if to == nil || from == nil {
		return
	}
	switch {
	case contains(to, isPointer) && !contains(from, isPointer):
		c.report(n, "numbers (%s) are read as pointers (%s)", from, to)
	case contains(from, isPointer) && contains(to, isUintptr) && !contains(from, isUintptr):
		c.report(n, "pointers (%s) are read as numbers (%s)", from, to)
	}
}

// selector reports what hands out addresses as numbers, or memory that must not be
// written.
func (c *checker) selector(n *ast.SelectorExpr) {
	obj := c.info.Uses[n.Sel]
	if obj == nil || obj.Pkg() == nil {
		return
	}
	bad := map[string][]string{
		"unsafe":  {"StringData"},
		"reflect": {"SliceHeader", "StringHeader", "UnsafeAddr"},
	}
	if slices.Contains(bad[obj.Pkg().Path()], obj.Name()) {
		c.report(n, "%s.%s", obj.Pkg().Name(), obj.Name())
	}
}

func (c *checker) typeOf(e ast.Expr) types.Type {
	if t := c.info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

func isBasic(t types.Type, kind types.BasicKind) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == kind
}

func isUintptr(t types.Type) bool { return isBasic(t, types.Uintptr) }
func isUnsafe(t types.Type) bool  { return isBasic(t, types.UnsafePointer) }

// isPointer reports whether a word of t's memory is an address.
func isPointer(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return true
	case *types.Interface:
		_, parameter := t.(*types.TypeParam)
		return !parameter
	}
	return isUnsafe(t) || isBasic(t, types.String)
}

// contains reports whether t, or a part of it that lies in its memory, is as asked.
func contains(t types.Type, is func(types.Type) bool) bool {
	if is(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return contains(u.Elem(), is)
	case *types.Struct:
		for f := range u.Fields() {
			if contains(f.Type(), is) {
				return true
			}
		}
	}
	return false
}

// pointee returns what a pointer points to, nil for other types.
func pointee(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return nil
}
