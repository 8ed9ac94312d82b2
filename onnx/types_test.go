package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/onnx/internal/standard"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestTypes gives the operands of each operator every type that the standard allows, which
// node tests do not: what is not there is refused by Load, and what Load takes runs. Floats
// give what floats of the test's type give for the same numbers, but for rounding, and so do
// integers where the numbers of all types are few.
func TestTypes(t *testing.T) {
	operators, tried, compared := map[string]string{}, 0, 0
	whole := *only == "" && !testing.Short()
	for i, c := range nodeCases(t) {
		if strings.Contains(c.name, "_expanded") || !strings.Contains(c.name, *only) || testing.Short() && i%16 != 0 {
			continue
		}
		operator := c.operator(t, operators)
		for variable, allowed := range c.variables(t) {
			for e := range carriers {
				if !contains(allowed, e) {
					continue
				}
				tried++
				if err := c.withType(variable, e, &compared); err != nil && !errors.Is(err, ErrUnsupported) {
					t.Errorf("%s: %s, %s is %s: %v", c.name, operator, variable, e, err)
				}
			}
		}
	}
	if whole && tried < 5000 {
		t.Errorf("%d types of operands", tried)
	}
	if whole && compared < 10_000 {
		t.Errorf("%d types of operands compared", compared)
	}
}

// variables returns the types that stand for operands of the only node of a test, and those
// that each may be.
func (c nodeCase) variables(t *testing.T) map[string][]string {
	file, err := format.ReadModel(c.files["model.onnx"])
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Graph.Nodes) != 1 {
		return nil
	}
	return specOf(file).Types
}

// specOf returns the operator of a model's only node.
func specOf(file *format.Model) *standard.Operator {
	n := file.Graph.Nodes[0]
	for _, o := range file.Opsets {
		if domain(o.Domain) == domain(n.Domain) {
			if spec, _ := standard.Find(domain(n.Domain), n.Operator, int(o.Version)); spec != nil {
				return spec
			}
		}
	}
	return &standard.Operator{}
}

// withType loads and runs the test with operands of another type. What is refused is so by
// Load; else the error says so. It counts what it compares with the test's own type.
func (c nodeCase) withType(variable string, e format.Elem, compared *int) error {
	file, err := format.ReadModel(c.files["model.onnx"])
	if err != nil {
		return err
	}
	spec, changed := specOf(file), map[string]bool{}
	for i, name := range file.Graph.Nodes[0].Inputs {
		if f, ok := formal(spec.Inputs, i); ok && f.Type == variable {
			changed[name] = true
		}
	}
	for _, in := range file.Graph.Inputs {
		if changed[in.Name] {
			retype(in.Type, e)
		}
	}
	b := &builder{file: file, device: device.CPU, opsets: map[string]int{}, functions: map[functionKey]*format.Function{}, nodes: map[string]int{}}
	m, err := b.model()
	if err != nil {
		return err
	}
	original, err := LoadBytes(c.files["model.onnx"], Plans(0))
	if err != nil {
		return nil // TestNodes looks at what is refused
	}
	return tensor.Scope(func() error {
		inputs, same := map[string]*value{}, map[string]*value{}
		for i, in := range file.Graph.Inputs {
			raw, ok := c.files[fmt.Sprintf("test_data_set_0/input_%d.pb", i)]
			if !ok {
				continue
			}
			given, err := format.ReadModel(c.files["model.onnx"])
			if err != nil {
				return err
			}
			v, err := stored(raw, Value{}, given.Graph.Inputs[i].Type)
			if err != nil {
				return nil // of a type that tensors do not have
			}
			back := v.elem
			if changed[in.Name] {
				if lowest, ok := ranges[e]; ok && lowest[0] == 0 && v.form == formTensor && v.t.DType() != tensor.Bool {
					v.t = v.t.Abs()
				}
				converted(v, e)
			}
			inputs[in.Name] = lent(v)
			if w := *v; w.form == formTensor {
				converted(&w, back)
				if agree(asDouble(&w), asDouble(v), 0, 0) == nil && !(changed[in.Name] && (e == format.Bool) != (back == format.Bool)) { // truth is no number
					same[in.Name] = lent(&w)
				}
			}
		}
		got, err := m.run(context.Background(), inputs, nil)
		if trains := "dropout while training"; err != nil && !strings.Contains(err.Error(), trains) { // values decide that
			return fmt.Errorf("refused by Run, not by Load: %s", err)
		}
		if err != nil || len(same) < len(inputs) || c.loose() {
			return nil
		}
		want, err := original.run(context.Background(), same, nil)
		if err != nil {
			return nil
		}
		*compared++
		for name, w := range want {
			if err := sameNumbers(got[name], w, e); err != nil {
				return fmt.Errorf("result %q: %w", name, err)
			}
		}
		return nil
	})
}

// loose reports whether results are random, or what the type itself makes of numbers.
func (c nodeCase) loose() bool {
	for _, part := range []string{"bernoulli", "random", "multinomial", "dropout", "quantizelinear", "cast"} {
		if strings.Contains(c.name, part) {
			return true
		}
	}
	return false
}

// sameNumbers compares a result of operands of type e with that of operands of the test's type.
func sameNumbers(got, want *value, e format.Elem) error {
	if got.form != formTensor || want.form != formTensor || want.t.NumElements() == 0 {
		return nil
	}
	g, w := got.t.DType(), want.t.DType()
	if !slices.Equal(got.t.Shape(), want.t.Shape()) {
		return fmt.Errorf("shape %v, want %v", got.t.Shape(), want.t.Shape())
	}
	most, others, err := largest(asDouble(want))
	if err != nil {
		return err
	}
	rtol := 1e-4
	switch {
	case g.IsFloat() && w.IsFloat():
		for _, dt := range []tensor.DType{g, w, carriers[e]} {
			if dt.Size() == 2 {
				rtol = max(rtol, map[tensor.DType]float64{tensor.Float16: 0x1p-8, tensor.BFloat16: 0x1p-5}[dt])
			}
		}
		if rtol > 1e-4 && (most > 60000 || others) { // float16 may end there
			return nil
		}
	case g != w || most > 100:
		return nil
	}
	return agree(asDouble(got), asDouble(want), rtol, rtol*most)
}

// largest returns the largest size of numbers of float64, of those below 1e30, and whether
// there are others: these stand for no limit, and nothing is a part of them.
func largest(v *value) (most float64, others bool, err error) {
	data, err := tensor.Data[float64](v.t)
	for _, x := range data {
		if x = math.Abs(x); x < 1e30 {
			most = max(most, x)
		} else {
			others = true
		}
	}
	return most, others, err
}

// asDouble returns a tensor's numbers as float64.
func asDouble(v *value) *value { return &value{t: v.t.ToType(tensor.Float64), elem: format.Double} }

// retype sets the type of the elements of a tensor, or of what is made of tensors.
func retype(t *format.Type, e format.Elem) {
	for t.Of != nil {
		t = t.Of
	}
	t.Elem = e
}

// converted gives a value elements of another type.
func converted(v *value, e format.Elem) {
	for _, x := range v.list {
		converted(x, e)
	}
	if v.elem = e; v.form == formTensor {
		v.t = v.t.ToType(carriers[e])
	}
}
