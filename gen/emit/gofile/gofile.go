// Package gofile writes Go files through jennifer: their headers, imports and
// comments, their division by group, and the Go of what a schema says, as types,
// parameters and literals. It knows nothing of what an emitted package is for.
package gofile

import (
	"bytes"
	"path"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// An Emitter writes the Go files of a unit.
type Emitter struct{ *unit.Unit }

// A File is a Go file being written.
type File struct {
	*jen.File
	e    *Emitter
	path string // below the module's root
}

// maxLines is about how long an emitted Go file may become before its group is
// split over several.
const maxLines = 800

// NewFile starts a file of the emitted package pkg; doc is its package comment,
// given in one file of each package.
func (e *Emitter) NewFile(pkg, base, doc string) *File {
	f := jen.NewFilePathName(e.Pkg(pkg), path.Base(pkg))
	f.HeaderComment(e.Target.Header())
	f.ImportNames(e.importNames())
	for name, p := range e.Spec.Imports {
		if path.Base(p) == name {
			f.ImportName(p, name)
		} else {
			f.ImportAlias(p, name)
		}
	}
	if !e.Std {
		f.ImportAlias(unit.StdPath("ops"), "stdops")
	}
	if doc != "" {
		f.PackageComment(comment(doc))
	}
	return &File{f, e, path.Join(e.Target.Dir, pkg, e.fileBase(base))}
}

// emittedSuffix ends the names of Go files in other modules than this one, by
// which package core knows that a frame is not the program's own.
const emittedSuffix = ".sinter.go"

func (e *Emitter) fileBase(base string) string {
	if e.Std || strings.HasSuffix(base, "_test.go") {
		return base
	}
	return strings.TrimSuffix(base, ".go") + emittedSuffix
}

// importNames are the packages whose names equal the last part of their path,
// so that imports need no alias.
func (e *Emitter) importNames() map[string]string {
	names := map[string]string{}
	for _, p := range []string{IRPath, ShapesPath, NumPath, CorePath, DevicePath, StreamPath, RandomPath, OptionPath, OptestPath, AllPath, VectorPath, DrawPath, CodePath} {
		names[p] = path.Base(p)
	}
	for _, p := range append([]string{"ops", "tensor", "opcases", "kernels"}, schema.Kinds...) {
		names[unit.StdPath(p)] = p
		names[e.Pkg(p)] = p
	}
	names[e.TensorPath()] = e.Spec.Package
	return names
}

// Done renders the file and stores it.
func (f *File) Done() {
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		f.e.Errs = append(f.e.Errs, err)
		return
	}
	f.e.Add(f.path, b.Bytes())
}

// Doc writes s as a doc comment, wrapped.
func (f *File) Doc(s string) {
	for line := range strings.SplitSeq(comment(s), "\n") {
		f.Comment(line)
	}
}

// comment wraps s to comment lines, each beginning with "// "; paragraphs are
// kept apart. One that is indented, a block of code or a list, keeps its lines.
func comment(s string) string {
	var b strings.Builder
	for i, par := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			b.WriteString("\n//\n")
		}
		switch {
		case strings.HasPrefix(par, "\t"):
			b.WriteString("//" + strings.ReplaceAll(par, "\n", "\n//"))
		case strings.HasPrefix(par, "  - "):
			for i, item := range strings.Split(par, "\n") {
				b.WriteString(strings.Repeat("\n", min(i, 1)))
				b.WriteString(strings.Replace(wrap(item, "//     ", 78), "//     ", "//   ", 1))
			}
		default:
			b.WriteString(wrap(par, "// ", 78))
		}
	}
	return b.String()
}

// wrap breaks s into lines of about width bytes, each beginning with prefix.
func wrap(s, prefix string, width int) string {
	var lines []string
	line := prefix
	for _, word := range strings.Fields(s) {
		if len(line)+len(word) > width && line != prefix {
			lines = append(lines, strings.TrimRight(line, " "))
			line = prefix
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}

// PerGroup writes the files of one emitted package, one a group, each split
// where it would pass maxLines. one adds a single operator to a file and
// reports how many lines that took, about.
func (e *Emitter) PerGroup(pkg string, one func(f *File, op *schema.Op)) {
	for _, g := range e.Groups {
		for i, part := range e.split(pkg, g.Ops, one) {
			f := e.NewFile(pkg, unit.PartName(g.File, i)+".go", "")
			for _, op := range part {
				one(f, op)
			}
			f.Done()
		}
	}
}

// split cuts sorted operators into runs whose output stays near maxLines.
func (e *Emitter) split(pkg string, ops []*schema.Op, one func(f *File, op *schema.Op)) [][]*schema.Op {
	var parts [][]*schema.Op
	lines, empty := 0, e.emptyLines(pkg)
	mistakes := len(e.Errs)
	for _, op := range ops {
		f := e.NewFile(pkg, "", "")
		f.NoFormat = true // only the lines count
		before := len(e.Files)
		one(f, op)
		f.Done()
		n := 0
		if len(e.Files) > before {
			n = bytes.Count(e.Files[before].Data, []byte("\n")) - empty
			e.Files = e.Files[:before]
		}
		if n <= 0 {
			continue
		}
		if len(parts) == 0 || lines+n > maxLines {
			parts, lines = append(parts, nil), 0
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], op)
		lines += n
	}
	e.Errs = e.Errs[:mistakes] // reported when the real files are written
	return parts
}

// emptyLines returns how many lines a file without declarations has.
func (e *Emitter) emptyLines(pkg string) int {
	before := len(e.Files)
	f := e.NewFile(pkg, "", "")
	f.NoFormat = true
	f.Done()
	n := bytes.Count(e.Files[before].Data, []byte("\n"))
	e.Files = e.Files[:before]
	return n
}

// code is a piece of Go.
type code = *jen.Statement

// IRName prints a name of package ir.
func IRName(name string) code { return jen.Qual(IRPath, name) }

// ShapesName prints a name of package shapes.
func ShapesName(name string) code { return jen.Qual(ShapesPath, name) }

// CoreName prints a name of package core.
func CoreName(name string) code { return jen.Qual(CorePath, name) }

// TensorType is *core.Tensor.
func TensorType() code { return jen.Op("*").Qual(CorePath, "Tensor") }

// DTypeName returns the ir constant of a dtype.
func DTypeName(d ir.DType) code { return IRName(unit.DTypeConst[d]) }

// Rows prints a composite literal's body with one element a line.
func Rows(items ...jen.Code) code {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, items...)
}

// fields prints key: value pairs in the given order on one line.
func Field(name string, value jen.Code) jen.Code { return jen.Id(name).Op(":").Add(value) }
