package behaviour_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
)

// TestErrorsPassedOver: a call that should have changed a tensor, failed, and whose
// result nobody looked at, is found at the tensor's next use. The operators' forms are
// in package optest.
func TestErrorsPassedOver(t *testing.T) {
	bytes := func() T { return tensor.From([]uint8{1, 2}) }
	floats := func() T { return tensor.From([]float32{1, 2}) }
	for name, c := range map[string]struct {
		x     T
		write func(x T) error
	}{
		"add":     {floats(), func(x T) error { return x.AddInPlace(tensor.Ones([]int{3})) }},
		"chain":   {floats(), func(x T) error { return x.AddInPlace(tensor.Ones([]int{3}).MatMul(tensor.Ones([]int{2}))) }},
		"out":     {floats(), func(x T) error { return out.Add(x, x, tensor.Ones([]int{3})) }},
		"copy":    {floats(), func(x T) error { return x.CopyFrom(tensor.Ones([]int{3})) }},
		"nothing": {floats(), func(x T) error { return x.CopyFrom(T{}) }},
		"fill":    {bytes(), func(x T) error { return x.FillInPlace(300) }},
		"normal":  {bytes(), func(x T) error { return x.NormalInPlace(0, 1) }},
		"uniform": {bytes(), func(x T) error { return x.UniformInPlace(0, 1) }},
	} {
		said := c.write(c.x)
		if said == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if _, err := c.x.Sum().Item(); err == nil || err.Error() != said.Error() {
			t.Errorf("%s: the next use says %v, want %v", name, err, said)
		}
		if err := c.x.Err(); err == nil || err.Error() != said.Error() {
			t.Errorf("%s: the tensor carries %v, want %v", name, err, said)
		}
		if sum, err := c.x.Sum().Item(); err != nil || sum != 3 {
			t.Errorf("%s: then the sum is %g, %v", name, sum, err)
		}
	}
}
