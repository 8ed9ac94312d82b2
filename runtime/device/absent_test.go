package device_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestWithoutBackend asks package cuda where nothing made GPUs known, as in a program that does not
// import package tensor, which the tests of package cuda do.
func TestWithoutBackend(t *testing.T) {
	if _, err := device.DriverOf(device.KindCUDA); err == nil {
		t.Fatal("this test binary has a backend for GPUs")
	}
	for i, err := range []error{cuda.Unavailable(), cuda.NewStream().Err(), cuda.WithDevice(0, nil)} {
		if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), "no cuda backend is part of this program") {
			t.Errorf("call %d: %v", i, err)
		}
	}
	why := errors.New("it was built without")
	device.Missing(device.KindCUDA, why)
	defer device.Missing(device.KindCUDA, nil)
	if err := cuda.Unavailable(); !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, why) {
		t.Errorf("the error does not say why: %v", err)
	}
}
