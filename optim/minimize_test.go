package optim_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// TestMinimize compares two steps with what they are by hand: of w*w with rate 0.25 they
// halve w.
func TestMinimize(t *testing.T) {
	w := &nn.Parameter{Tensor: tensor.FromSlice([]float64{2, -4}, []int{2}).RequireGrad()}
	sgd, err := optim.NewSGD([]*nn.Parameter{w}, 0.25)
	must(t, err)
	var square, kept tensor.Tensor
	for i, want := range []float64{20, 5} {
		loss, err := optim.Minimize(sgd, func() tensor.Tensor {
			square = w.Square()
			kept = square.MulScalar(2)
			tensor.Keep(kept)
			return square.Sum()
		})
		must(t, err)
		if got, err := loss.Item(); got != want || err != nil || loss.RequiresGrad() {
			t.Errorf("step %d: loss %v, %v, want %v", i, got, err, want)
		}
		if square.Err() == nil || kept.Err() != nil {
			t.Errorf("step %d: what loss made: %v, what it kept: %v", i, square.Err(), kept.Err())
		}
	}
	values := func() []float64 {
		v, err := tensor.Data[float64](w.Tensor)
		must(t, err)
		return v
	}
	if diff := cmp.Diff([]float64{0.5, -1}, values()); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		o    optim.Optimizer
		loss func() tensor.Tensor
		want string
	}{
		"no optimizer":  {nil, func() tensor.Tensor { return w.Sum() }, "Minimize wants an optimizer"},
		"nil optimizer": {(*optim.SGD)(nil), func() tensor.Tensor { return w.Sum() }, "an optimizer that is nil"},
		"no loss":       {sgd, nil, "Minimize wants an optimizer and a function"},
		"zero loss":     {sgd, func() tensor.Tensor { return tensor.Tensor{} }, "zero Tensor"},
		"many losses":   {sgd, func() tensor.Tensor { return w.Square() }, "[2]"},
		"a mistake":     {sgd, func() tensor.Tensor { return w.MatMul(tensor.Ones([]int{3})).Sum() }, "matmul"},
	} {
		if _, err := optim.Minimize(c.o, c.loss); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if diff := cmp.Diff([]float64{0.5, -1}, values()); diff != "" {
		t.Errorf("after mistakes:\n%s", diff)
	}
}

// failing is an optimizer whose steps fail.
type failing struct{ optim.Optimizer }

var errStep = errors.New("no step")

func (failing) Step() error { return errStep }

func TestMinimizeStepFails(t *testing.T) {
	w := &nn.Parameter{Tensor: tensor.Ones([]int{2}).RequireGrad()}
	sgd, err := optim.NewSGD([]*nn.Parameter{w}, 0.25)
	must(t, err)
	if _, err := optim.Minimize(failing{sgd}, func() tensor.Tensor { return w.Sum() }); err != errStep {
		t.Error(err)
	}
}
