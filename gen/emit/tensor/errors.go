package tensor

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
)

// sentinels are the errors that programs may decide on, and what wraps them.
var sentinels = []struct {
	name, doc string
	value     code
}{
	{"ErrShape", "shapes that do not fit an operator or each other.", gofile.IRName("ErrShape")},
	{"ErrDType", "a dtype that an operator does not take.", gofile.CoreName("ErrDType")},
	{"ErrReleased", "the use of a tensor after Release, or after the Scope it was made in.", gofile.CoreName("ErrReleased")},
	{"ErrNoGrad", "asking for a gradient where there is none.", gofile.CoreName("ErrNoGrad")},
	{"ErrChanged", "a backward pass that needs a value which was changed in place.", gofile.CoreName("ErrChanged")},
	{"ErrZeroTensor", "the use of a Tensor that was never given a value.", gofile.CoreName("ErrZeroTensor")},
	{"ErrOverlap", "writing to memory that another operand has, too, or that the tensor has twice.", gofile.CoreName("ErrOverlap")},
}

// errors prints the errors.
func (f *goFile) errors() {
	f.Doc("Errors that tensors carry and functions return wrap one of these where a program may want to decide on it: errors.Is(y.Err(), ErrShape).")
	var defs []jen.Code
	for _, s := range sentinels {
		defs = append(defs, jen.Comment(s.name+": "+s.doc), jen.Id(s.name).Op("=").Add(s.value.Clone()))
	}
	f.Const().Defs(defs...)
	f.Line()
}

// sentinelNames are the names that the errors have.
func sentinelNames() []string {
	var names []string
	for _, s := range sentinels {
		names = append(names, s.name)
	}
	return names
}
