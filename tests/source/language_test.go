package source_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir/expr"
)

// matches returns what a pattern's group matches in the files, in lower case.
func matches(t *testing.T, pattern string, globs ...string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, glob := range globs {
		files, err := filepath.Glob(filepath.Join(root, glob))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file %s", glob)
		}
		for _, f := range files {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, strings.TrimPrefix(f, root)), -1) {
				found[strings.ToLower(m[1])] = true
			}
		}
	}
	return found
}

// TestFunctionsEverywhere looks for every function of the scalar language in Go,
// in CUDA and in the reference, so that one that is added has all of them.
func TestFunctionsEverywhere(t *testing.T) {
	// What the languages have themselves is written in place.
	builtin := []string{"cast", "int", "where", "real", "conj", "complex"}
	// The reference keeps numbers that are not real, and random ones, elsewhere.
	notReal := []string{"imag", "angle", "isnan", "isinf", "isfinite", "signbit", "uniform", "normal", "random_bits"}
	inGo := matches(t, `(?m)^func ([A-Z][A-Za-z0-9]*)\[?`, "ir/num/*.go")
	inCUDA := matches(t, `\b([a-z][a-z0-9_]*)\b`, "kernels/*.cuh") // many are made by macros
	for _, name := range expr.Functions() {
		if slices.Contains(builtin, name) {
			continue
		}
		if !inGo[strings.ReplaceAll(name, "_", "")] {
			t.Errorf("%s is not in package ir/num", name)
		}
		if !inCUDA[name] {
			t.Errorf("%s is not in kernels/*.cuh", name)
		}
		if wide.Funcs[name] == nil && !slices.Contains(notReal, name) {
			t.Errorf("%s is not in package backend/ref/wide", name)
		}
	}
}
