package behaviour_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestP25 copies between two asynchronous devices while both are busy: the copy
// waits for both, and both wait for the copy.
func TestP25(t *testing.T) {
	old, _ := device.DriverOf(device.KindSim)
	device.Install(sim.New(sim.Config{Devices: 2, Async: true, Delay: time.Millisecond}))
	defer device.Install(old)
	for range 20 {
		x := tensor.From([]float32{1, 2, 3}).To(device.Sim(0)).MulScalar(10)
		y := x.To(device.Sim(1)).AddScalar(1)
		got, err := tensor.Data[float32](y)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]float32{11, 21, 31}, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
