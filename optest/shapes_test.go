package optest_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/said"
)

// The shapes that documentation states in words which a test can follow.
var (
	likeOperand = regexp.MustCompile(`Shape: that of (\w+)\. `)
	noAxes      = regexp.MustCompile(`Shape: no axes\. `)
	broadcast   = regexp.MustCompile(`Shape: that to which (\w+(?:, \w+)* and \w+) broadcast\. `)
)

// TestShapes applies operators to their samples and compares the shape of the first result
// with what their documentation says, where that is the shape of an operand, of several that
// broadcast, or no axes.
func TestShapes(t *testing.T) {
	says, err := said.Operators("..", "generated/tensor")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Load(filepath.Join("..", "ops.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range opcases.Cases {
		name := spec.Lookup(c.Op.Name).GoName
		text, ok := says[name]
		if !ok || len(c.Op.In) == 0 {
			continue
		}
		samples := c.Samples
		if len(samples) == 0 {
			shapes := slices.Repeat([][]int{{2, 3}}, len(c.Op.In))
			shapes[0] = []int{4, 1, 3}
			samples = []optest.Sample{{Shapes: shapes, Attrs: c.Defaults}}
		}
		for _, s := range samples {
			want, ok := stated(text, c.Op, s)
			if !ok {
				continue
			}
			y := zeros(c, s)
			if err := y.Err(); err != nil {
				continue // values that zeros are not
			}
			compared++
			if got := y.Shape(); !slices.Equal(got, want) {
				t.Errorf("%s of %v has shape %v, its documentation says %v: %s", name, s.Shapes, got, want, text)
			}
		}
	}
	if compared < 200 {
		t.Errorf("%d results were compared", compared)
	}
}

// stated returns the shape that documentation states for a sample, if a test can follow it.
func stated(text string, op *ir.Op, s optest.Sample) ([]int, bool) {
	operand := func(name string) []int {
		i := slices.IndexFunc(op.In, func(o ir.Operand) bool { return strings.EqualFold(strings.ReplaceAll(o.Name, "_", ""), name) })
		if i < 0 || i >= len(s.Shapes) {
			return nil
		}
		return s.Shapes[i]
	}
	if noAxes.MatchString(text) {
		return nil, true
	}
	if m := likeOperand.FindStringSubmatch(text); m != nil {
		return operand(m[1]), true
	}
	m := broadcast.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	var want []int
	for _, name := range strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' || r == ' ' }) {
		if name == "and" {
			continue
		}
		var err error
		if want, err = ir.Broadcast(want, operand(name)); err != nil {
			return nil, false
		}
	}
	return want, true
}

// zeros applies an operator to zeros of the first dtype that it takes.
func zeros(c optest.Operator, s optest.Sample) *core.Tensor {
	in := make([]*core.Tensor, max(len(s.Shapes), len(c.Op.In)))
	for i, shape := range s.Shapes {
		d := ir.Float32
		if o := c.Op.In[min(i, len(c.Op.In)-1)]; o.Fixed != ir.Invalid {
			d = o.Fixed
		} else if !c.Op.DTypes.Has(d) {
			d = c.Op.DTypes.List()[0]
		}
		in[i] = core.FromBytes(make([]byte, d.Size()*ir.NumElements(shape)), d, shape, core.Placement{})
	}
	return c.Call(optest.Args{In: in, Attrs: s.Attrs, Place: &core.Placement{Device: device.CPU}})[0]
}
