package main

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		exit(child(os.Stdout))
	}
	os.Exit(m.Run())
}

// measureAll runs the command and returns what it wrote.
func measureAll(t *testing.T, s settings) (report, string) {
	t.Helper()
	s.json = filepath.Join(t.TempDir(), "results.json")
	var table strings.Builder
	if err := run(t.Context(), &table, s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.json)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r, table.String()
}

// check looks that rows ran, and returns them by name.
func check(t *testing.T, r report) map[string]outcome {
	t.Helper()
	rows := map[string]outcome{}
	for _, o := range r.Rows {
		if rows[o.Name].Name != "" {
			t.Errorf("two rows are called %s", o.Name)
		}
		rows[o.Name] = o
		switch {
		case o.Failed != "":
			t.Errorf("%s: %s", o.Name, o.Failed)
		case o.Ours == nil || !(o.Ours.Low >= 0 && (o.Ours.Low > 0 || o.Unit == allocations.name || strings.HasPrefix(o.Name, "collection")) && o.Ours.Low <= o.Ours.Value && o.Ours.Value <= o.Ours.High) || math.IsInf(o.Ours.High, 0):
			t.Errorf("%s: %v", o.Name, o.Ours)
		}
	}
	return rows
}

func TestCPU(t *testing.T) {
	rows := "^(?:[^Mo]|o[^p])"
	if testing.Short() {
		rows = "^(add|Go alloc|softmax|cumsum|sort 1Ki|product float64|chain)"
	}
	r, table := measureAll(t, settings{device: "cpu", rows: rows, torch: "off", quick: true})
	got := check(t, r)
	for _, name := range []string{"add 1024", "Go allocations of add 1024", "softmax, 1 thread", "cumsum of rows, 2 threads", "sort 1Ki, 1 thread", "product float64 33x65x129 (small and odd), 1 thread", "chain"} {
		if got[name].Name == "" || !strings.Contains(table, "\n"+name+", ") {
			t.Errorf("there is no row %s in\n%s", name, table)
		}
	}
}

func TestTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("a step takes a moment")
	}
	r, _ := measureAll(t, settings{device: "cpu", rows: "^MLP", torch: "off", quick: true})
	if rows := check(t, r); len(rows) != 4 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestAccelerator runs rows by events, copies and the TF32 example on a simulated
// device that stands for a GPU.
func TestAccelerator(t *testing.T) {
	old, err := device.DriverOf(device.KindCUDA)
	if err != nil {
		t.Fatal(err)
	}
	device.Install(sim.New(sim.Config{Kind: device.KindCUDA, Devices: 2, Async: true}))
	t.Cleanup(func() { device.Install(old) })
	chosen, least := "^(add|exp|sum 1024|allocate|.*to device|device to.*|product|TF32|FP32|loader)", 18
	if testing.Short() {
		chosen, least = "^(add|sum 1024|.*to device|device to.*|TF32)", 9
	}
	r, _ := measureAll(t, settings{device: "cuda", rows: chosen, torch: "off", quick: true})
	rows := check(t, r)
	if len(rows) < least || rows["pinned to device"].Unit != "GB/s" || rows["device to device, peers"].Unit != "GB/s" || r.Machine.Device == "" {
		t.Errorf("%d rows on %+v", len(rows), r.Machine)
	}
}

// TestCompiled runs the rows of compiled steps on a simulated device.
func TestCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("records large models")
	}
	old, err := device.DriverOf(device.KindCUDA)
	if err != nil {
		t.Fatal(err)
	}
	device.Install(sim.New(sim.Config{Kind: device.KindCUDA, Devices: 1, Async: true}))
	t.Cleanup(func() { device.Install(old) })
	const chosen = "^(compiled|eager|recording|host time of a captured|peak memory|ResNet-50 inference)"
	r, _ := measureAll(t, settings{device: "cuda", rows: chosen, torch: "off", quick: true})
	if rows := check(t, r); len(rows) != 27 || rows["compiled ResNet-50, batch 64, SGD, TF32"].Unit != "images/s" {
		t.Errorf("%d rows", len(rows))
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		settings
		want string
	}{
		{settings{device: "tpu"}, "tpu"},
		{settings{device: "cuda:77", torch: "off"}, "cuda:77"},
		{settings{device: "cpu", rows: "("}, "-rows"},
		{settings{device: "cpu", rows: "no such row", torch: "off"}, "matches no row"},
		{settings{device: "cpu", torch: "on"}, "auto and off"},
	} {
		if err := run(t.Context(), io.Discard, c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.settings, err)
		}
	}
}

// TestChoice: rows that others are compared with come along.
func TestChoice(t *testing.T) {
	p := workloadFor(device.CUDA(0), false)
	for pattern, want := range map[string][]string{
		"^add 1024$":         {launchRow, "add 1024"},
		"^(cumsum|argmax)$":  {copyRow, "argmax", "cumsum"},
		"^pinned to device$": {"pinned to device"},
	} {
		var got []string
		for _, r := range choice(p.rows(true), regexp.MustCompile(pattern)) {
			got = append(got, r.name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
}

// TestRows: the rows for a GPU have names of their own, and operands larger than
// its cache where the device is timed.
func TestRows(t *testing.T) {
	p, names, products := workloadFor(device.CUDA(0), false), map[string]bool{}, 0
	for _, r := range p.rows(true) {
		if names[r.name] {
			t.Errorf("two rows are called %s", r.name)
		}
		names[r.name] = true
		if r.group == productGroup {
			products++
		}
		bytes := int64(0)
		for _, in := range r.in {
			bytes += in.bytes()
		}
		if n := p.sets(&r); r.clock == deviceTime && bytes > 0 && (n < 1 || int64(n)*bytes < 60<<20 && n < 64) {
			t.Errorf("%s rotates through %d sets of %d bytes", r.name, n, bytes)
		}
	}
	if want := len(modes) * (4 + len(odd)); products != want {
		t.Errorf("%d products, want %d", products, want)
	}
	for name := range names {
		if !strings.HasPrefix(name, "Go allocations") && strings.Contains(name, "  ") {
			t.Errorf("name %q", name)
		}
	}
}

// TestJudge holds targets against figures made up for it.
func TestJudge(t *testing.T) {
	n := func(v float64) *number { return &number{v, v, v} }
	type verdict struct {
		Need float64
		Met  bool
	}
	for _, c := range []struct {
		name         string
		target       target
		ours, theirs *number
		want         []verdict
	}{
		{"time, met", atMost(0.5, byPyTorch), n(4), n(10), []verdict{{5, true}}},
		{"time, missed", atMost(0.5, byPyTorch), n(6), n(10), []verdict{{5, false}}},
		{"without PyTorch", atMost(0.5, byPyTorch), n(6), nil, nil},
		{"rate, met", atLeast(2, byPyTorch), n(21), n(10), []verdict{{20, true}}},
		{"a number", atMost(8, absolute), n(9), nil, []verdict{{8, false}}},
		{"no figure of ours", atMost(8, absolute), nil, nil, []verdict{{8, false}}},
		{"copy, met", ofCopy(0.5), n(2200), nil, []verdict{{2150, true}}},
		{"copy, PyTorch is slower", ofCopy(0.5), n(2100), n(2000), []verdict{{2150, false}}},
		{"copy, PyTorch is faster", ofCopy(0.5), n(3900), n(4000), []verdict{{3920, false}}},
		{"the lower of two, met", atLeast(3, byPyTorch).orAtLeast(0.5, copyRow), n(2100), n(1000), []verdict{{2050, true}}},
		{"the lower of two, missed", atLeast(1, byPyTorch).orAtLeast(0.5, copyRow), n(900), n(1000), []verdict{{1000, false}}},
		{"the other is unknown", atLeast(1, byPyTorch).orAtLeast(0.5, "no row"), n(900), n(1000), nil},
		{"an unknown row", atMost(1, "no row"), n(1), nil, nil},
	} {
		o := outcome{Name: "x", Ours: c.ours, PyTorch: c.theirs, targets: []target{c.target}}
		r := report{Rows: []outcome{{Name: copyRow, Ours: n(4100), PyTorch: n(4300)}, o}}
		r.judge()
		var got []verdict
		for _, j := range r.Rows[1].Targets {
			got = append(got, verdict{j.Need, j.Met})
		}
		if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestGeometricMean(t *testing.T) {
	one := func(ratio float64) outcome {
		return outcome{Group: productGroup, Ours: &number{Value: ratio}, PyTorch: &number{Value: 1}, Ratio: ratio}
	}
	r := report{Rows: []outcome{one(2), one(0.5), one(1), {Group: "other", Ratio: 100}, {Group: productGroup}}}
	r.judge()
	last := r.Rows[len(r.Rows)-1]
	if last.Name != means()[0].name() || math.Abs(last.Ours.Value-1) > 1e-12 || !last.Targets[0].Met {
		t.Errorf("%+v", last)
	}
	var b strings.Builder
	if err := r.print(&b, true); err != nil || strings.Contains(b.String(), "other") {
		t.Errorf("rows that miss nothing are printed: %v\n%s", err, b.String())
	}
}

// TestScript runs beside.py over a stand-in for PyTorch.
func TestScript(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	stand, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", stand)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	r, table := measureAll(t, settings{device: "cpu", rows: "^(add 1024|sum 1024|empty 1024)$", torch: "auto", quick: true})
	for name, o := range check(t, r) {
		if o.PyTorch == nil || math.Abs(o.Ratio-o.Ours.Value/o.PyTorch.Value) > 1e-9 || o.Other != "" {
			t.Errorf("%s: PyTorch has %v, ratio %v, %q", name, o.PyTorch, o.Ratio, o.Other)
		}
	}
	if len(r.Rows) != 3 || r.Machine.PyTorch != "0.test on cpu, 3 threads" {
		t.Errorf("%d rows, PyTorch %q, printed\n%s", len(r.Rows), r.Machine.PyTorch, table)
	}

	side, err := startTorch(t.Context(), device.CPU)
	if err != nil {
		t.Fatal(err)
	}
	defer side.close()
	for _, bad := range []row{
		{in: []operand{f32(4)}, torch: "a.sun()", clock: wallTime},
		{in: []operand{f32(4), f32(5)}, torch: "a + b", clock: wallTime},
		{in: []operand{f32(0)}, torch: "a.sum()", clock: wallTime},
		{in: []operand{f32(4)}, torch: "a +", clock: wallTime},
		{setup: "import no_such_module", torch: "1", clock: wallTime},
	} {
		err := side.prepare(&bad, 1)
		if err == nil {
			_, err = side.batch(2)
		}
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, %q: %v", bad.setup, bad.torch, err)
		}
	}
	good := row{in: []operand{f32(4), f32(4)}, torch: "a + b", clock: wallTime}
	if err := side.prepare(&good, 3); err != nil {
		t.Fatal(err)
	}
	few, err := side.batch(100)
	many, err2 := side.batch(20000)
	if err := errors.Join(err, err2, side.drop()); err != nil || !(few > 0 && many > 4*few) {
		t.Errorf("100 calls take %g s, 20000 take %g s: %v", few, many, err)
	}
}

// TestNoPyTorch: what is no PyTorch is told in words.
func TestNoPyTorch(t *testing.T) {
	for want, command := range map[string]*exec.Cmd{
		"no-such-python": exec.Command("no-such-python"),
		"ended":          exec.Command("true"),
		"said":           exec.Command("echo", "hello"),
		"broken":         exec.Command("sh", "-c", "echo broken >&2"),
	} {
		if _, err := startSide(command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", command, err)
		}
	}
}
