package unit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
)

// UsersOf names the operators that take the enum.
func (u *Unit) UsersOf(n *Enum) string {
	var names []string
	for _, op := range u.Spec.Ops {
		for _, p := range op.Params {
			if p.Type == schema.Enum && p.Name == n.Param {
				names = append(names, op.Name)
			}
		}
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return strings.Join(names, "")
}

// An Enum is a named type made of an enum parameter: every parameter of the schema
// with the same name shares it.
type Enum struct {
	Param  string // as in the schema
	GoName string
	Names  []string // in order
	First  *schema.Op
}

// Value returns the Go name of one of the enum's constants.
func (n *Enum) Value(name string) string { return n.GoName + schema.GoName(name) }

func collectEnums(spec *schema.Spec) []*Enum {
	var out []*Enum
	for _, op := range spec.Ops {
		for _, p := range op.Params {
			known := func(n *Enum) bool { return n.Param == p.Name }
			if p.Type == schema.Enum && !slices.ContainsFunc(out, known) {
				out = append(out, &Enum{p.Name, schema.GoName(p.Name), p.Enum, op})
			}
		}
	}
	slices.SortFunc(out, func(a, b *Enum) int { return cmp.Compare(a.Param, b.Param) })
	return out
}

// EnumOf returns the enum of a parameter and the ops package it is declared in.
func (u *Unit) EnumOf(op *schema.Op, p *schema.Param) (*Enum, string) {
	if u.Own(op) {
		for _, n := range u.Enums {
			if n.Param == p.Name {
				return n, u.OpsPath()
			}
		}
	}
	return &Enum{p.Name, schema.GoName(p.Name), p.Enum, op}, StdPath("ops")
}

// CheckEnums reports an enum's name with two lists of names.
func (u *Unit) CheckEnums() {
	for _, op := range u.Spec.Ops {
		for _, p := range op.Params {
			if p.Type != schema.Enum {
				continue
			}
			if n, _ := u.EnumOf(op, p); !slices.Equal(n.Names, p.Enum) {
				u.Fail(op, "enum %s has the names %v here and %v in op %s; one Go type stands for both, so give one another name",
					p.Name, p.Enum, n.Names, n.First.Name)
			}
		}
	}
}
