package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRun compares with what PyTorch's notes print.
func TestFactories(t *testing.T) {
	var out strings.Builder
	if err := runFactories(&out, "sim"); err != nil {
		t.Fatal(err)
	}
	const want = `tensor([[0.3000, 0.3000],
        [0.3000, 0.3000],
        [0.3000, 0.3000]])
tensor([[-5., -5.],
        [-5., -5.],
        [-5., -5.]], device='cuda:0')
tensor([[1, 2, 3]])
tensor([[1., 1., 1.],
        [1., 1., 1.]])
tensor([[0., 0., 0.],
        [0., 0., 0.]], device='cuda:0')
tensor([1])
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := runFactories(&out, "none"); err == nil {
		t.Error("runs on no device")
	}
}
