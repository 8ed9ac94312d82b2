package optest_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestRunsOn: programs can call every operator on every kind of device, and RunOn
// leaves alone what compositions take elsewhere.
func TestRunsOn(t *testing.T) {
	alone := 0
	for i := range opcases.Cases {
		o := opcases.Cases[i]
		for _, kind := range []device.Kind{device.KindCPU, device.KindCUDA, device.KindSim} {
			switch {
			case o.RunsOn(kind):
			case o.Op.Tags&ir.TagHidden == 0:
				t.Errorf("%s is public and has no kernel on %s", o.Op.Name, kind)
			case kind != device.KindCUDA:
				t.Errorf("%s has no kernel on %s", o.Op.Name, kind)
			default:
				alone++
				o.Call = func(optest.Args) []*core.Tensor {
					t.Errorf("%s was called on %s", o.Op.Name, kind)
					return nil
				}
				optest.RunOn(t, []optest.Operator{o}, device.CUDA(0))
			}
		}
	}
	if alone == 0 {
		t.Error("no operator is for the CPU alone")
	}
	if o := operator(t, "max_unpool"); !o.RunsOn(device.KindCUDA) {
		t.Error("max_unpool is made of parts where there is no kernel of it")
	}
}
