package nn_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestBatchNormFaults has every launch of a step in training fail in turn: the running
// statistics are both as they were, or both those of the step.
func TestBatchNormFaults(t *testing.T) {
	d := device.Sim(1)
	x := tensor.From([]float32{1, 2, 3, 4, 5, 7}, 3, 2).To(d)
	fresh := func() *nn.BatchNorm {
		m := nn.NewBatchNorm(2)
		must(t, nn.To(m, d))
		return m
	}
	m := fresh()
	before := state(t, m)
	must(t, m.Forward(x).Err())
	after := state(t, m)
	if cmp.Equal(before, after) {
		t.Fatal("a step leaves the running statistics")
	}
	fault := errors.New("bus error")
	failed := 0
	for k := 1; ; k++ {
		m := fresh()
		must(t, simulated.Fail(d.Index, sim.FaultLaunch, k, fault))
		err := m.Forward(x).Err()
		if simulated.Heal(d.Index) != 0 { // it has fewer launches
			break
		}
		failed++
		want := before
		if err == nil {
			want = after
		} else if !errors.Is(err, fault) {
			t.Errorf("launch %d: %v", k, err)
		}
		if diff := cmp.Diff(want, state(t, m)); diff != "" {
			t.Errorf("launch %d fails, the error is %v: %s", k, err, diff)
		}
	}
	if failed < 5 {
		t.Errorf("%d launches failed, a step has more", failed)
	}
}
