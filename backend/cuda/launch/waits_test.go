package launch

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/kernels"
)

// TestWaits: the modules whose kernels are launched early are those that include early.cuh, and each of
// their kernels waits before it reads or writes memory that others do, as NVRTC prints it.
func TestWaits(t *testing.T) {
	names, err := kernels.Source.ReadDir(".")
	must(t, err)
	including := map[string][]kernels.File{}
	for _, entry := range names {
		module, is := strings.CutSuffix(entry.Name(), ".cu")
		if !is {
			continue
		}
		files, err := kernels.Files(kernels.Source, module)
		must(t, err)
		if slices.ContainsFunc(files, func(f kernels.File) bool { return f.Name == "early.cuh" }) {
			including[module] = files
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(earlyFrom)), slices.Sorted(maps.Keys(including))); diff != "" {
		t.Fatalf("modules that are launched early and that include early.cuh (-the first +the second):\n%s", diff)
	}
	c, err := nvrtc.Open()
	if err != nil {
		t.Skip(err)
	}
	for module, files := range including {
		p := nvrtc.Program{Name: module + ".cu", Headers: map[string]string{}, Target: "compute_90", Options: kernels.Options()}
		for _, f := range files {
			if f.Name == p.Name {
				p.Source = string(f.Text)
			} else {
				p.Headers[f.Name] = string(f.Text)
			}
		}
		ptx, err := c.Compile(p)
		must(t, err)
		entries := strings.Split(string(ptx), ".entry ")[1:]
		if len(entries) == 0 {
			t.Errorf("%s: NVRTC prints no kernels", p.Name)
		}
		for _, k := range entries {
			if name, _, _ := strings.Cut(k, "("); !waitsFirst(k) {
				t.Errorf("%s: kernel %s reads or writes memory before it waits, or does not wait", module, name)
			}
		}
	}
}

// waitsFirst reports whether a kernel waits for what is in front of it before it reads or writes memory
// that others do, too.
func waitsFirst(ptx string) bool {
	for line := range strings.Lines(ptx) {
		op, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(op, "@") { // where a condition holds
			_, op, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		what, where, _ := strings.Cut(op, ".")
		switch {
		case strings.HasPrefix(op, "griddepcontrol.wait"):
			return true
		case strings.HasPrefix(where, "param"), strings.HasPrefix(where, "shared"), strings.HasPrefix(where, "local"):
		case slices.Contains([]string{"ld", "ldu", "st", "atom", "red", "cp", "prefetch"}, what):
			return false
		}
	}
	return false
}
