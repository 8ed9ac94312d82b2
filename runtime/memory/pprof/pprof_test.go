package pprof

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

var sites = []memory.Site{
	{
		Device:     device.CUDA(0),
		Frames:     []memory.Frame{{Function: "p.New", File: "p.go", Line: 3}, {Function: "main.main", File: "main.go", Line: 10}},
		LiveBlocks: 2, LiveBytes: 4096, PeakBlocks: 3, PeakBytes: 8192,
	},
	{
		Device:     device.CUDA(1),
		Frames:     []memory.Frame{{Function: "p.New", File: "p.go", Line: 3}, {Function: "main.main", File: "main.go", Line: 11}},
		PeakBlocks: 1, PeakBytes: 512,
	},
}

func written(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, sites); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestParse reads the profile back.
func TestParse(t *testing.T) {
	p, err := profile.ParseData(written(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Sample {
		line := fmt.Sprint(s.Label["device"], s.Value)
		for _, l := range s.Location {
			line += fmt.Sprintf(" %s %s:%d", l.Line[0].Function.Name, l.Line[0].Function.Filename, l.Line[0].Line)
		}
		got = append(got, line)
	}
	want := []string{
		"[cuda:0] [2 4096 3 8192] p.New p.go:3 main.main main.go:10",
		"[cuda:1] [0 0 1 512] p.New p.go:3 main.main main.go:11",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(p.Location) != 3 || len(p.Function) != 2 {
		t.Errorf("%d locations and %d functions, want 3 and 2", len(p.Location), len(p.Function))
	}
}

// TestTool has go tool pprof, which has a reader of its own version, list it.
func TestTool(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	if out, err := exec.Command("go", "tool", "-n", "pprof").CombinedOutput(); err != nil {
		t.Skipf("no go tool pprof: %v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "device.pb.gz")
	if err := os.WriteFile(file, written(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ index, want string }{{"live_bytes", "4kB"}, {"peak_bytes", "8.50kB"}, {"peak_blocks", "4"}} {
		cmd := exec.Command("go", "tool", "pprof", "-top", "-sample_index="+c.index, file)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go tool pprof: %v\n%s", err, out)
		}
		if !strings.Contains(string(out), "Showing nodes accounting for "+c.want+",") || !strings.Contains(string(out), "p.New") {
			t.Errorf("%s: want %s in\n%s", c.index, c.want, out)
		}
	}
}
