package tensor

import (
	"path"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

const outDoc = `Package out has the operators of package %s in the form that writes the result to a tensor there is, which is the first argument: out.MatMul(dst, x, y) in place of dst = x.MatMul(y). dst must have the result's shape and device, and a dtype that the result's casts to; the other arguments are those of package %s.

%codeWhat fails returns an error and changes nothing. The error stays in dst, too, until its Err has read it, so that it is found although the call's result was passed over.`

// outCode is what the documentation of the standard package shows.
const outCode = `	y := tensor.Empty([]int{2, 2})
	for range 100 {
		if err := out.MatMul(y, x, x); err != nil { // no memory is allocated
			return err
		}
	}

`

// outPackage emits the package of the forms that write to a given tensor, below the
// public one.
func (e *emitter) outPackage() {
	some := func(has func(op *schema.Op) bool) bool {
		return slices.ContainsFunc(e.Spec.Ops, func(op *schema.Op) bool { return unit.HasOut(op) && has(op) })
	}
	if !some(unit.Public) {
		return
	}
	o := &emitter{Emitter: e.Emitter, out: true}
	pkg := OutPackage(e.Spec)
	code := ""
	if e.Std {
		code = outCode
	}
	f := o.goFile(pkg, "out.go", strings.NewReplacer("%s", e.Spec.Package, "%code", code).Replace(outDoc))
	if some(unit.HasScalarForm) {
		f.numberHelper()
	}
	if some(takesList) {
		f.handlesHelper()
	}
	f.Done()
	o.perGroup(pkg, func(f *goFile, op *schema.Op) {
		if !unit.HasOut(op) {
			return
		}
		if len(optionsOf(op)) > 0 {
			f.optionReader(op)
		}
		fm := form{e: o, op: op, name: op.GoName, suffix: "Out"}
		f.function(fm)
		if unit.HasScalarForm(op) {
			fm.name, fm.scalars = op.GoName+"Scalar", true
			f.function(fm)
		}
	})
}

// OutPackage is where the forms that write to a given tensor are, below the directory of
// emitted packages.
func OutPackage(spec *schema.Spec) string { return path.Join(spec.Package, "out") }

func takesList(op *schema.Op) bool {
	return slices.ContainsFunc(op.Params, func(p *schema.Param) bool { return p.Type == schema.TensorList && !p.Option })
}
