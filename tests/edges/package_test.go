package edges_test

import (
	"os"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: 1}))
	os.Exit(m.Run())
}

// must fails the test when err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// values returns the elements of x, row-major, as float64.
func values(t testing.TB, x tensor.Tensor) []float64 {
	t.Helper()
	data, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	must(t, err)
	return data
}
