package data_test

import (
	"os"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: 2, Async: true}))
	os.Exit(m.Run())
}

// ints returns the elements of an int64 tensor.
func ints(t testing.TB, x tensor.Tensor) []int64 {
	t.Helper()
	v, err := tensor.Data[int64](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
