package pickle

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// python returns what Python makes of a pickle, by way of repr.
func python(t *testing.T, data []byte) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	cmd := exec.Command(path, "-c", "import pickle, sys; print(repr(pickle.load(sys.stdin.buffer)), end='')")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python3: %v\n%s", err, out)
	}
	return string(out)
}

// example writes one of everything.
func example(p *Writer) {
	long := strings.Repeat("é", 200)
	values := []func(){
		p.None,
		func() { p.Bool(true) },
		func() { p.Bool(false) },
		func() { p.Float(-0.5) },
		func() { p.String("") },
		func() { p.String("naïve") },
		func() { p.String("naïve") },
		func() { p.String(long) },
		func() { p.String(long) },
		func() { p.List(0, nil) },
		func() { p.Tuple(0, nil) },
		func() { p.Tuple(2, func(i int) { p.Int(int64(i)) }) },
		func() {
			p.Dict(func() {
				p.Key("a")
				p.Int(1)
				p.Key("naïve")
				p.List(1, func(int) { p.Dict(func() {}) })
			})
		},
		func() { p.Shared(7, func() { p.List(1, func(int) { p.String("once") }) }) },
		func() { p.Shared(7, func() { panic("written twice") }) },
	}
	p.List(len(values), func(i int) { values[i]() })
}

const exampleText = `[None, True, False, -0.5, '', 'naïve', 'naïve', 'LONG', 'LONG', [], (), (0, 1), {'a': 1, 'naïve': [{}]}, ['once'], ['once']]`

func TestPython(t *testing.T) {
	var b bytes.Buffer
	p := NewWriter(&b)
	example(p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(exampleText, "LONG", strings.Repeat("é", 200))
	if diff := cmp.Diff(want, python(t, b.Bytes())); diff != "" {
		t.Error(diff)
	}
}

// TestIntegers has integers on both sides of every change of form, and more of
// them than a batch.
func TestIntegers(t *testing.T) {
	var signed []int64
	for shift := range 64 {
		for d := int64(-2); d <= 2; d++ {
			v := int64(1)<<shift + d
			signed = append(signed, v, -v)
		}
	}
	for len(signed) <= 2*batch {
		signed = append(signed, signed...)
	}
	var b bytes.Buffer
	p := NewWriter(&b)
	p.List(len(signed)+2, func(i int) {
		switch i - len(signed) {
		case 0:
			p.Uint(1<<64 - 1)
		case 1:
			p.Uint(1 << 62)
		default:
			p.Int(signed[i])
		}
	})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	numbers, _ := json.Marshal(signed)
	want := strings.TrimSuffix(strings.ReplaceAll(string(numbers), ",", ", "), "]") + ", 18446744073709551615, 4611686018427387904]"
	if got := python(t, b.Bytes()); got != want {
		t.Errorf("Python reads %.200s..., want %.200s...", got, want)
	}
}

// TestReferences has more shared values than one byte counts.
func TestReferences(t *testing.T) {
	var b bytes.Buffer
	p := NewWriter(&b)
	const n = 600
	p.List(2*n, func(i int) { p.Shared(i%n, func() { p.Tuple(1, func(int) { p.Int(int64(i)) }) }) })
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 2 * n {
		want = append(want, "("+string(mustJSON(t, i%n))+",)")
	}
	if got := python(t, b.Bytes()); got != "["+strings.Join(want, ", ")+"]" {
		t.Errorf("Python reads %.200s...", got)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBytes holds a small pickle against bytes that the format's definition gives,
// where there is no Python.
func TestBytes(t *testing.T) {
	var b bytes.Buffer
	p := NewWriter(&b)
	p.Dict(func() {
		p.Key("n")
		p.Int(300)
		p.Key("l")
		p.List(2, func(int) { p.String("n") })
	})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := "\x80\x04}(\x8c\x01n\x94M\x2c\x01\x8c\x01l\x94](h\x00h\x00eu."
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestError(t *testing.T) {
	full := errors.New("full")
	p := NewWriter(broken{full})
	p.String(strings.Repeat("x", 1<<14))
	p.Int(1)
	if err := p.Close(); !errors.Is(err, full) {
		t.Errorf("Close returned %v, want %v", err, full)
	}
}
