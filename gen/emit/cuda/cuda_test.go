package cuda_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/gen/emit/cuda"
	"github.com/sinter-go/sinter/gen/emit/ops"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// sources returns the CUDA sources of a schema by name.
func sources(t *testing.T, text []byte) (map[string]string, error) {
	t.Helper()
	spec, err := schema.Parse("ops.yaml", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	u := unit.New(spec, unit.Target{Module: unit.Module, Dir: "generated", Source: "ops.yaml"})
	ops.New(u, nil)
	cuda.Emit(u)
	out := map[string]string{}
	for _, f := range u.Files {
		if strings.HasSuffix(f.Path, ".cu") {
			out[f.Path] = string(f.Data)
		}
	}
	if len(u.Errs) > 0 {
		return out, u.Errs[0]
	}
	return out, nil
}

// added returns the standard schema with operators more at the end of a group: names
// as they are, of a body with a gradient of its own.
func added(t *testing.T, group string, names ...string) []byte {
	t.Helper()
	start := bytes.Index(sinter.Schema, []byte("- group: "+group+"\n"))
	if start < 0 {
		t.Fatalf("there is no group %s", group)
	}
	end := len(sinter.Schema)
	if n := bytes.Index(sinter.Schema[start+1:], []byte("\n- group: ")); n >= 0 {
		end = start + 1 + n
	}
	var entries strings.Builder
	for _, name := range names {
		fmt.Fprintf(&entries, "\n  - op: %s(x Tensor, y Tensor) -> Tensor\n    doc: does something.\n    dtypes: float\n    expr: exp(x*y)*sin(y)\n"+
			"    test: {domain: [0, 1], samples: [{shapes: [[2], [2]]}]}\n    bench: {none: for a test}\n", name)
	}
	return slices.Concat(sinter.Schema[:end], []byte(entries.String()), sinter.Schema[end:])
}

// TestModulesStay adds an operator to groups with one CUDA source and with several, whose
// name comes first, last or between: no source changes but those that the operator and
// its gradients are in, and in these nothing but what is added.
func TestModulesStay(t *testing.T) {
	if testing.Short() {
		t.Skip("prints every kernel")
	}
	before, err := sources(t, sinter.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ group, name, file string }{
		{"arithmetic", "aa", "arithmetic"}, {"arithmetic", "cz", "arithmetic_b"}, {"arithmetic", "fz", "arithmetic_c"},
		{"arithmetic", "pa", "arithmetic_d"}, {"arithmetic", "zz", "arithmetic_e"},
		{"comparison", "m", "comparison"}, {"comparison", "zz", "comparison_b"},
		{"rounding", "m", "rounding"}, {"reduction", "root_of", "reduction_b"}, {"factory", "m", "factory"},
	} {
		if testing.Short() && tt.group == "arithmetic" && tt.name != "fz" {
			continue
		}
		after, err := sources(t, added(t, tt.group, tt.name))
		if err != nil {
			t.Errorf("%s in %s: %v", tt.name, tt.group, err)
			continue
		}
		var changed []string
		for name, text := range after {
			if text != before[name] {
				changed = append(changed, name)
			}
		}
		want := "kernels/" + tt.file + ".cu"
		if diff := cmp.Diff([]string{want}, changed); diff != "" {
			t.Errorf("%s in %s changes (-want +got):\n%s", tt.name, tt.group, diff)
			continue
		}
		lines := strings.Split(after[want], "\n")
		for line := range strings.Lines(before[want]) {
			i := slices.Index(lines, strings.TrimSuffix(line, "\n"))
			if i < 0 {
				t.Errorf("%s in %s: %s has lost or moved %q", tt.name, tt.group, want, line)
				break
			}
			lines = lines[i+1:]
		}
	}
}

// TestFullModule: a source that would take too long to compile is an error that says
// what to do, and a cut changes no other source.
func TestFullModule(t *testing.T) {
	if testing.Short() {
		t.Skip("emits all CUDA code three times")
	}
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	text := added(t, "rounding", names...)
	_, err := sources(t, text)
	refused := regexp.MustCompile(`rounding\.cu has (\d+) kernels of the group rounding, 128 at most: cut it, with (n\d+)_grad_y in the group's list cuda`)
	said := refused.FindStringSubmatch(fmt.Sprint(err))
	if said == nil {
		t.Fatalf("error %v, want %v", err, refused)
	}
	before, err := sources(t, sinter.Schema)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.Replace(text, []byte("- group: rounding\n"), []byte("- group: rounding\n  cuda: ["+said[2]+"]\n"), 1)
	after, err := sources(t, cut)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range before {
		if name != "kernels/rounding.cu" && after[name] != text {
			t.Errorf("%s changed", name)
		}
	}
	first, second := kernels(after["kernels/rounding.cu"]), kernels(after["kernels/rounding_b.cu"])
	if first == 0 || second == 0 || fmt.Sprint(first+second) != said[1] {
		t.Errorf("rounding.cu has %d kernels and rounding_b.cu %d, of %s", first, second, said[1])
	}
}

// kernels returns how many kernels a source has.
func kernels(text string) int { return strings.Count(text, "\nSINTER_") }
