package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRun compares with the devices that PyTorch's notes state.
func TestThreeDevices(t *testing.T) {
	var out strings.Builder
	if err := runThreeDevices(&out, "sim"); err != nil {
		t.Fatal(err)
	}
	const want = `on 3 simulated GPUs
x  cuda:0
y  cuda:0
a  cuda:1
b  cuda:1
b2 cuda:1
c  cuda:1
z  cuda:0
d  cuda:2
e  cuda:2
f  cuda:2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestFewer runs as far as it goes on fewer devices.
func TestFewer(t *testing.T) {
	for n, want := range map[int][]string{
		2: {"\nz  cuda:0\n", "\nd  randn: ", "\ne  to: ", "cuda:2: this process sees 2 cuda devices"},
		1: {"x  cuda:0\ny  cuda:0\n"},
	} {
		if _, err := use("sim", n, 0); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := place(&out)
		for _, line := range want {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%d devices: no %q in\n%s", n, line, out.String())
			}
		}
		if (err == nil) != (n > 1) {
			t.Errorf("%d devices: %v", n, err)
		}
	}
}

func TestBadDevice(t *testing.T) {
	if err := runThreeDevices(io.Discard, "tpu"); err == nil || !strings.Contains(err.Error(), `"tpu"`) {
		t.Error(err)
	}
}
