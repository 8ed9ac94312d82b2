package source_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKernelWalk: the files that name an operator with kernels of its own, on the CPU and on
// GPUs, are those that CONTRIBUTING.md lists for such a one, and each of its rows is needed
// by one of them at least.
func TestKernelWalk(t *testing.T) {
	_, section, ok := strings.Cut(read(t, "CONTRIBUTING.md"), "\n### An operator with a kernel of its own\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section about operators with kernels")
	}
	section, _, _ = strings.Cut(section, "\n### ")
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(section, -1) {
		for _, m := range regexp.MustCompile("`([a-z0-9_/.]+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, m[1])
		}
	}
	slices.Sort(listed)
	listed = slices.Compact(listed)
	used := map[string]bool{}
	for _, names := range []string{`AvgPool|avg_pool`, `SearchSorted|searchsorted`} {
		word := regexp.MustCompile(`\b(` + names + `)\b`)
		some := strings.Split(names, "|") // which a search finds faster
		walk := func(name string, text []byte) {
			if !slices.ContainsFunc(some, func(s string) bool { return bytes.Contains(text, []byte(s)) }) || !word.Match(text) {
				return
			}
			i := slices.IndexFunc(listed, func(l string) bool { return name == l || strings.HasPrefix(name, l+"/") })
			if i >= 0 {
				used[listed[i]] = true
			} else if !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s names an operator, and CONTRIBUTING.md lists no such place for one with kernels", name)
			}
		}
		goFiles(t, func(name string, text []byte) {
			if !strings.HasPrefix(name, "generated/") && !strings.HasPrefix(name, "nn/") {
				walk(name, text)
			}
		})
		for _, pattern := range []string{"ops.yaml", "kernels/*.cu", "kernels/*.cuh", "tests/vectors/*.py"} {
			files, err := filepath.Glob(filepath.Join(root, pattern))
			must(t, err)
			for _, name := range files {
				text, err := os.ReadFile(name)
				must(t, err)
				walk(path.Join(path.Dir(pattern), filepath.Base(name)), text)
			}
		}
	}
	var needless []string
	for _, l := range listed {
		if !used[l] && !strings.Contains(l, "kernels/") { // compiled ones, and what compiles them
			needless = append(needless, l)
		}
	}
	if diff := cmp.Diff([]string(nil), needless); diff != "" {
		t.Errorf("places that no operator with kernels needs:\n%s", diff)
	}
}
