package main

import (
	"io"
	"os"
	"testing"
)

func Example_fftcache() {
	if err := runFFTCache(os.Stdout, "sim"); err != nil {
		panic(err)
	}
	// Output:
	// on 2 simulated GPUs: 0 plans, at most 4096
	// after a transform of 8 x 64  1 plans
	// after the same again         1 plans
	// after one of 4 x 64          2 plans
	// after a bound of 1           1 plans
	// after a transform of 2 x 64  1 plans
	// after clearing               0 plans
	// at most 1 plans on cuda:0, 10 on cuda:1
}

func TestNoDevice(t *testing.T) {
	if err := runFFTCache(io.Discard, "cuda:9"); err == nil {
		t.Error("runs on no device")
	}
}
