// Package unit is one schema being emitted: its operators by group, what Go names
// and forms they get, where files go, and the files and mistakes so far. What the
// files hold is the business of the packages beside it; this one prints no code.
package unit

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/sinter-go/sinter/gen/schema"
)

// A Unit collects the files of one schema.
type Unit struct {
	Spec   *schema.Spec
	Target Target
	Std    bool // the standard schema: nothing to refer to but the runtime
	Groups []*Group
	Enums  []*Enum
	Files  []File
	Errs   []error

	KernelDir, DocsDir string // below the module's root

	// DerivedOps are the hidden operators that compute gradients and that no schema
	// names. They stand in the groups of the operators they differentiate.
	DerivedOps map[*schema.Op]bool
}

// A Group is one section of the schema, its operators sorted by name.
type Group struct {
	Name string // as in the schema
	File string // base name of its files
	Doc  string
	Cuts []string // as in the schema
	Ops  []*schema.Op
}

// New returns what is emitted of spec, without any files yet.
func New(spec *schema.Spec, target Target) *Unit {
	u := &Unit{Spec: spec, Target: target, Std: spec.Base == nil, DerivedOps: map[*schema.Op]bool{}}
	u.KernelDir, u.DocsDir = path.Join(target.Dir, "kernels"), path.Join(target.Dir, "docs")
	if u.Std {
		u.KernelDir, u.DocsDir = "kernels", "docs"
	}
	for _, g := range spec.Groups {
		sorted := slices.Clone(g.Ops)
		slices.SortFunc(sorted, ByName)
		u.Groups = append(u.Groups, &Group{g.Name, fileName(g.Name), g.Doc, g.Cuts, sorted})
	}
	slices.SortFunc(u.Groups, func(a, b *Group) int { return cmp.Compare(a.Name, b.Name) })
	u.Enums = collectEnums(spec)
	return u
}

// ByName orders operators.
func ByName(a, b *schema.Op) int { return cmp.Compare(a.Name, b.Name) }

// Fail notes a mistake that only emission can see.
func (u *Unit) Fail(op *schema.Op, format string, args ...any) {
	p := op.Pos
	err := fmt.Errorf("%s:%d:%d: op %s: %s", p.File, p.Line, p.Col, op.Name, fmt.Sprintf(format, args...))
	if !slices.ContainsFunc(u.Errs, func(old error) bool { return old.Error() == err.Error() }) { // several artefacts may see it
		u.Errs = append(u.Errs, err)
	}
}

// Add stores a finished file.
func (u *Unit) Add(name string, data []byte) {
	u.Files = append(u.Files, File{name, data})
}

// Pkg returns the import path of one of the packages emitted for this schema.
func (u *Unit) Pkg(name string) string {
	return path.Join(u.Target.Module, u.Target.Dir, name)
}

// OpsPath returns the import path of the operators on handles.
func (u *Unit) OpsPath() string { return u.Pkg("ops") }

// TensorPath returns the import path of the package that users import.
func (u *Unit) TensorPath() string { return u.Pkg(u.Spec.Package) }

// Own reports whether op belongs to the schema being emitted.
func (u *Unit) Own(op *schema.Op) bool {
	return u.Std || u.DerivedOps[op] || slices.Contains(u.Spec.Ops, op)
}

// OpsOf returns the import path of the ops package that holds op.
func (u *Unit) OpsOf(op *schema.Op) string {
	if u.Own(op) {
		return u.OpsPath()
	}
	return StdPath("ops")
}

// Standard returns the operator that emitted gradients need under a name that
// the standard schema must define; it notes a mistake of op when there is none.
func (u *Unit) Standard(op *schema.Op, name string) *schema.Op {
	if found := u.Spec.Lookup(name); found != nil {
		return found
	}
	u.Fail(op, "its gradient needs the operator %s, which no schema defines", name)
	return &schema.Op{Name: name, GoName: schema.GoName(name)}
}
