package gpu_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
)

// The tests of operators, in parts by how they become kernels: every dtype,
// layout, literal case and gradient, against the reference interpreter.
func TestElementwise(t *testing.T)  { operators(t, ir.Elementwise) }
func TestReductions(t *testing.T)   { operators(t, ir.Reduction) }
func TestScans(t *testing.T)        { operators(t, ir.Scan) }
func TestKernels(t *testing.T)      { operators(t, ir.Opaque) }
func TestViews(t *testing.T)        { operators(t, ir.ViewBody) }
func TestCompositions(t *testing.T) { operators(t, ir.Composition) }
func TestEveryKindIsTested(t *testing.T) {
	for _, o := range opcases.Cases {
		switch o.Op.Kind {
		case ir.Elementwise, ir.Reduction, ir.Scan, ir.Opaque, ir.ViewBody, ir.Composition:
		default:
			t.Errorf("%s is of kind %v, which no test takes", o.Op.Name, o.Op.Kind)
		}
	}
}

func operators(t *testing.T, kind ir.BodyKind) {
	need(t)
	exactly(t)
	var table []optest.Operator
	for _, o := range opcases.Cases {
		if o.Op.Kind == kind {
			table = append(table, o)
		}
	}
	var opts []optest.Option
	if !*differences {
		opts = append(opts, optest.WithoutDifferences())
	}
	optest.RunOn(t, dealt(shard, table), gpu, opts...)
}

// TestTF32Operators is S16 and S17: the operators that follow the TF32 flags, in
// the dtypes that do, held to TF32's bounds while the flags are on.
func TestTF32Operators(t *testing.T) {
	need(t)
	optest.RunTF32On(t, dealt(shard, opcases.Cases), gpu)
}
