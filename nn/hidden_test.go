package nn_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

type secretive struct {
	In  *nn.Linear
	out *nn.Linear
}

type listed struct{ layers []nn.Module }

type shared struct {
	A    *nn.Linear
	last *nn.Linear // one of the others
}

type teacher struct {
	Student *nn.Linear
	teacher *nn.Linear `nn:"-"`
	Other   *nn.Linear `nn:"-"`
}

type unset struct {
	A   *nn.Linear
	out *nn.Linear               //lint:ignore U1000 the walk looks at it
	by  map[string]*nn.Parameter //lint:ignore U1000 the walk looks at it
}

// TestHiddenLayers holds that a layer in a field that is not exported is an error which
// names the field, wherever the model's state is used.
func TestHiddenLayers(t *testing.T) {
	for _, c := range []struct {
		m    any
		want string // "" for none
	}{
		{&secretive{nn.NewLinear(2, 3), nn.NewLinear(3, 1)}, "the field out of nn_test.secretive"},
		{&listed{[]nn.Module{nn.NewLinear(2, 3)}}, "the field layers of nn_test.listed"},
		{func() any { l := nn.NewLinear(2, 3); return &shared{l, l} }(), ""},
		{&teacher{nn.NewLinear(2, 3), nn.NewLinear(2, 3), nn.NewLinear(2, 3)}, ""},
		{&unset{A: nn.NewLinear(2, 3)}, ""},
	} {
		_, optimizer := optim.NewSGD(nn.Parameters(c.m), 0.1)
		var dict error
		for _, v := range nn.StateDict(c.m) {
			if err := v.Err(); err != nil {
				dict = err
			}
		}
		for name, err := range map[string]error{
			"To": nn.To(c.m, device.CPU), "ToType": nn.ToType(c.m, tensor.Float64), "StateDict": dict,
			"optimizer": optimizer, "SetRequireGrad": nn.SetRequireGrad(c.m, true), "ZeroGrad": nn.ZeroGrad(c.m),
		} {
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%T: %s: error %v, want %q", c.m, name, err, c.want)
			}
		}
		if text := nn.Summary(c.m); strings.Contains(text, "not exported") != (c.want != "") {
			t.Errorf("%T: %s", c.m, text)
		}
	}
	if n := len(nn.Parameters(&teacher{Student: nn.NewLinear(2, 3), teacher: nn.NewLinear(2, 3), Other: nn.NewLinear(1, 1)})); n != 2 {
		t.Errorf("%d parameters, want the student's 2", n)
	}
}

// TestBatchesTracked holds that a state dict of PyTorch's batch normalization is taken, and
// that a name which only looks like it is not.
func TestBatchesTracked(t *testing.T) {
	m := nn.NewSequential(nn.NewBatchNorm(3))
	values := nn.StateDict(m)
	values["0.num_batches_tracked"] = tensor.FromScalar(7)
	if err := nn.LoadStateDict(m, values); err != nil {
		t.Error(err)
	}
	if _, unexpected, err := nn.LoadMatching(m, values); err != nil || len(unexpected) > 0 {
		t.Errorf("unexpected %v, error %v", unexpected, err)
	}
	values["1.num_batches_tracked"] = tensor.FromScalar(7)
	if err := nn.LoadStateDict(m, values); err == nil {
		t.Error("a number of batches of a layer that is not there: want an error")
	}
}

// TestSummaryOfZeroValues holds that layers which were not made, and none at all, have a
// summary.
func TestSummaryOfZeroValues(t *testing.T) {
	for _, m := range []any{&nn.Linear{}, &nn.Embedding{}, &nn.LSTM{}, &nn.BatchNorm{}, nn.Sequential{}, &nn.Sequential{}, (*nn.Linear)(nil), nil, 3} {
		if text := nn.Summary(m); text == "" {
			t.Errorf("%T: no text", m)
		}
	}
}
