package simd

import (
	"os"
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
		{"sse", AVX2, AVX2, "SINTER_CPU=sse is not one of portable, avx2, "},
	} {
		got, err := choose(test.value, test.available)
		if got != test.want || (err != nil) != (test.failure != "") || err != nil && !strings.Contains(err.Error(), test.failure) {
			t.Errorf("choose(%q, %s) = %s, %v; want %s and an error with %q", test.value, test.available, got, err, test.want, test.failure)
		}
	}
}

// TestLevels compares the list with the constants and with the page that has the names.
func TestLevels(t *testing.T) {
	all, text := Levels(), ""
	for i, l := range all {
		if l != Level(i) {
			t.Errorf("%s is at place %d", l, i)
		}
		switch {
		case i == 0:
		case i < len(all)-1:
			text += ", "
		default:
			text += " or "
		}
		text += "`" + l.String() + "`"
	}
	if last := all[len(all)-1]; last != AMX || strings.HasPrefix(last.String(), "Level") || !strings.HasPrefix((last+1).String(), "Level") {
		t.Errorf("the last level of the list is %s, the one after it %s", last, last+1)
	}
	if usable := Usable(); usable[0] != Portable || usable[len(usable)-1] != Available() {
		t.Errorf("%v can be used, %s is the best", usable, Available())
	}
	page, err := os.ReadFile("../../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), text) {
		t.Errorf("docs/environment.md does not have %s", text)
	}
}

func TestActive(t *testing.T) {
	if Err() == nil && Active() > Available() {
		t.Errorf("%s is active, %s is available", Active(), Available())
	}
}
