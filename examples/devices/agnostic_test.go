package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/runtime/device"
)

func printed(t *testing.T, dev device.Device, epochs int) (first string, losses []string) {
	t.Helper()
	var out strings.Builder
	if err := runAgnostic(t.Context(), &out, dev, epochs); err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	return all[0], all[1:]
}

// TestChoose looks at the choice where there is no GPU. It comes before the tests that
// simulate one.
func TestChoose(t *testing.T) {
	if device.Install(own); cuda.IsAvailable() {
		t.Skip("there is a GPU")
	}
	if d := anyDevice(false); d != device.CPU {
		t.Errorf("without a GPU the choice is %s", d)
	}
}

// TestRun trains on the CPU and on a simulated GPU, which the same program calls
// cuda:0, and compares the losses.
func TestAgnostic(t *testing.T) {
	if _, err := use("sim", 1, 0); err != nil {
		t.Fatal(err)
	}
	on, want := printed(t, anyDevice(true), 5)
	if on != "on cpu" {
		t.Errorf("disabled, it runs %s", on)
	}
	on, got := printed(t, anyDevice(false), 5)
	if on != "on cuda:0" {
		t.Errorf("it runs %s", on)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLearns checks that the losses fall.
func TestLearns(t *testing.T) {
	_, losses := printed(t, device.CPU, 20)
	number := regexp.MustCompile(`[0-9.]+$`)
	var values []float64
	for _, l := range losses {
		v, err := strconv.ParseFloat(number.FindString(l), 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if len(values) != 4 || values[3] > 0.02 || values[3] > values[0] {
		t.Errorf("losses %v", values)
	}
}
