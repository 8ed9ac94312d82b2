package simd

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		value     string
		available Level
		want      Level
		failure   string // part of the error
	}{
		{"", AVX512, AVX512, ""},
		{"avx2", AMX, AVX2, ""},
		{"avx512bf16", AMX, AVX512BF16, ""},
		{"amx", AVX512BF16, AVX512BF16, "this processor has avx512bf16 at most"},
		{"AVX512", AVX512, AVX512, ""},
		{"portable", Portable, Portable, ""},
		{"avx512", AVX2, AVX2, "this processor has avx2 at most"},
		{"sse", AVX2, AVX2, "portable, avx2, avx512, avx512bf16, amx"},
	} {
		got, err := choose(test.value, test.available)
		if got != test.want || (err != nil) != (test.failure != "") || err != nil && !strings.Contains(err.Error(), test.failure) {
			t.Errorf("choose(%q, %s) = %s, %v; want %s and an error with %q", test.value, test.available, got, err, test.want, test.failure)
		}
	}
}

func TestActive(t *testing.T) {
	if Err() == nil && Active() > Available() {
		t.Errorf("%s is active, %s is available", Active(), Available())
	}
}
