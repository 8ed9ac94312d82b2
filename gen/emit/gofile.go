package emit

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// goFile is a Go file being written.
type goFile struct {
	*jen.File
	e    *emitter
	path string // below the module's root
}

// maxLines is about how long an emitted Go file may become before its group is
// split over several.
const maxLines = 800

// goFile starts a file of the emitted package pkg; doc is its package comment,
// given in one file of each package.
func (e *emitter) goFile(pkg, base, doc string) *goFile {
	f := jen.NewFilePathName(e.pkg(pkg), path.Base(pkg))
	f.HeaderComment(e.target.Header())
	f.ImportNames(e.importNames())
	for name, p := range e.spec.Imports {
		if path.Base(p) == name {
			f.ImportName(p, name)
		} else {
			f.ImportAlias(p, name)
		}
	}
	if !e.std {
		f.ImportAlias(stdPath("ops"), "stdops")
	}
	if doc != "" {
		f.PackageComment(comment(doc))
	}
	return &goFile{f, e, path.Join(e.target.Dir, pkg, e.fileBase(base))}
}

// emittedSuffix ends the names of Go files in other modules than this one, by
// which package core knows that a frame is not the program's own.
const emittedSuffix = ".sinter.go"

func (e *emitter) fileBase(base string) string {
	if e.std || strings.HasSuffix(base, "_test.go") {
		return base
	}
	return strings.TrimSuffix(base, ".go") + emittedSuffix
}

// importNames are the packages whose names equal the last part of their path,
// so that imports need no alias.
func (e *emitter) importNames() map[string]string {
	names := map[string]string{}
	for _, p := range []string{irPath, numPath, corePath, devicePath, streamPath, randomPath, optestPath, allPath, vectorPath} {
		names[p] = path.Base(p)
	}
	for _, p := range []string{"ops", "cpu", "cuda", "tensor", "opcases", "kernels"} {
		names[stdPath(p)] = p
		names[e.pkg(p)] = p
	}
	names[e.tensorPath()] = e.spec.Package
	return names
}

// done renders the file and stores it.
func (f *goFile) done() {
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		f.e.errs = append(f.e.errs, err)
		return
	}
	f.e.add(f.path, b.Bytes())
}

// doc writes s as a doc comment, wrapped.
func (f *goFile) doc(s string) {
	for line := range strings.SplitSeq(comment(s), "\n") {
		f.Comment(line)
	}
}

// comment wraps s to comment lines, each beginning with "// "; paragraphs are
// kept apart.
func comment(s string) string {
	var b strings.Builder
	for i, par := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			b.WriteString("\n//\n")
		}
		b.WriteString(wrap(par, "// ", 78))
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

// perGroup writes the files of one emitted package, one a group, each split
// where it would pass maxLines. one adds a single operator to a file and
// reports how many lines that took, about.
func (e *emitter) perGroup(pkg string, one func(f *goFile, op *schema.Op)) {
	for _, g := range e.groups {
		for i, part := range e.split(pkg, g.ops, one) {
			f := e.goFile(pkg, partName(g.file, i)+".go", "")
			for _, op := range part {
				one(f, op)
			}
			f.done()
		}
	}
}

// split cuts sorted operators into runs whose output stays near maxLines.
func (e *emitter) split(pkg string, ops []*schema.Op, one func(f *goFile, op *schema.Op)) [][]*schema.Op {
	var parts [][]*schema.Op
	lines, empty := 0, e.emptyLines(pkg)
	mistakes := len(e.errs)
	for _, op := range ops {
		f := e.goFile(pkg, "", "")
		f.NoFormat = true // only the lines count
		before := len(e.files)
		one(f, op)
		f.done()
		n := 0
		if len(e.files) > before {
			n = bytes.Count(e.files[before].Data, []byte("\n")) - empty
			e.files = e.files[:before]
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
	e.errs = e.errs[:mistakes] // reported when the real files are written
	return parts
}

// emptyLines returns how many lines a file without declarations has.
func (e *emitter) emptyLines(pkg string) int {
	before := len(e.files)
	f := e.goFile(pkg, "", "")
	f.NoFormat = true
	f.done()
	n := bytes.Count(e.files[before].Data, []byte("\n"))
	e.files = e.files[:before]
	return n
}

// fileName turns a group's name into a file's base name.
func fileName(group string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(group))
}

// taken are names that emitted functions use for themselves.
var taken = []string{"grad", "opts", "dst", "place", "err", "apply", "body", "result", "t"}

// local returns the Go name of a parameter or a defined value: camelCase.
func local(name string) string {
	s := lower(schema.GoName(name))
	if slices.Contains(taken, s) {
		s += "Arg"
	}
	return s
}

// lower makes an exported Go name unexported.
func lower(s string) string {
	n := 0
	for n < len(s) && 'A' <= s[n] && s[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(s) { // DType, but MatMul
		n--
	}
	return strings.ToLower(s[:n]) + s[n:]
}

// code is a piece of Go.
type code = *jen.Statement

func irName(name string) code   { return jen.Qual(irPath, name) }
func coreName(name string) code { return jen.Qual(corePath, name) }

// tensorType is *core.Tensor.
func tensorType() code { return jen.Op("*").Qual(corePath, "Tensor") }

// dtypeName returns the ir constant of a dtype.
func dtypeName(d ir.DType) code { return irName(dtypeConst[d]) }

var dtypeConst = map[ir.DType]string{
	ir.Invalid: "Invalid", ir.Bool: "Bool", ir.Uint8: "Uint8", ir.Int8: "Int8", ir.Int16: "Int16", ir.Int32: "Int32",
	ir.Int64: "Int64", ir.Float16: "Float16", ir.BFloat16: "BFloat16", ir.Float32: "Float32", ir.Float64: "Float64",
	ir.Complex64: "Complex64", ir.Complex128: "Complex128",
}

// rows prints a composite literal's body with one element a line.
func rows(items ...jen.Code) code {
	return jen.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}, items...)
}

// fields prints key: value pairs in the given order on one line.
func field(name string, value jen.Code) jen.Code { return jen.Id(name).Op(":").Add(value) }

// partName names the i-th file of those that hold what base stands for.
func partName(base string, i int) string {
	if i == 0 {
		return base
	}
	return base + "_" + string(rune('a'+i))
}
