package identify

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/runtime/device"
)

// model returns the model, and skips the test where it was not fetched.
func model(t *testing.T) *Model {
	t.Helper()
	m, err := Load(os.DirFS("../model"), device.CPU)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no model: python3 examples/models.py filetype fetches it")
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// zipped opens a file of testdata that was compressed by gzip.
func zipped(t *testing.T, name string) io.Reader {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unpack writes the files of testdata, and a link that leads nowhere and one that does.
func unpack(t *testing.T) {
	t.Helper()
	r := tar.NewReader(zipped(t, "files.tar.gz"))
	t.Chdir(t.TempDir())
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(h.Name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.Name, body, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "sources/a.py", "broken": "nothing"} {
		if err := os.Symlink(target, name); err != nil {
			t.Skip("no symbolic links:", err)
		}
	}
}

// TestAnswers compares with Magika's Python package, all that it says.
func TestAnswers(t *testing.T) {
	m := model(t)
	var want []Result
	if err := json.NewDecoder(zipped(t, "answers.json.gz")).Decode(&want); err != nil {
		t.Fatal(err)
	}
	unpack(t)
	var paths []string
	for _, w := range want {
		paths = append(paths, w.Path)
	}
	got, err := m.Paths(t.Context(), paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The network takes variances of numbers far from zero. With all of it in float64 the
	// scores are up to 0.006 from ours, and up to 0.001 from those of onnxruntime, whose own
	// differ by that between one file and many.
	close := cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) <= 0.01 })
	if diff := cmp.Diff(want, got, close, cmpopts.IgnoreFields(Result{}, "Err"), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for _, r := range got {
		if (r.Status == OK) != (r.Err == nil) {
			t.Errorf("%s: state %s with error %v", r.Path, r.Status, r.Err)
		}
	}
}

// TestOptions looks at links, guesses, and at bytes that are in no file.
func TestOptions(t *testing.T) {
	m := model(t)
	unpack(t)
	for _, test := range []struct {
		path string
		o    Options
		want string
	}{
		{"link", Options{}, "python"},
		{"link", Options{NoDereference: true}, symlink},
		{"broken", Options{NoDereference: true}, symlink},
		{"sources", Options{BestGuess: true}, directory},
	} {
		r, err := m.Paths(t.Context(), []string{test.path}, test.o)
		if err != nil || len(r) != 1 || r[0].Status != OK || r[0].Prediction.Type.Label != test.want {
			t.Errorf("%s with %+v is %+v, %v, want %s", test.path, test.o, r, err, test.want)
		}
	}
	unsure := "twice, thrice, night and small"
	sure, err := m.Read(t.Context(), strings.NewReader(unsure), int64(len(unsure)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	guess, err := m.Read(t.Context(), strings.NewReader(unsure), int64(len(unsure)), Options{BestGuess: true})
	if err != nil {
		t.Fatal(err)
	}
	if sure.Type.Label != text || guess.Overwrite == overwriteLow {
		t.Errorf("%q is %+v, and by a guess %+v", unsure, sure, guess)
	}
}

// TestGoroutines uses one model from several goroutines.
func TestGoroutines(t *testing.T) {
	m := model(t)
	program := "package main\n\nfunc main() { println(1) }\n"
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				p, err := m.Read(t.Context(), strings.NewReader(program), int64(len(program)), Options{})
				if err != nil || p.Type.Label != "go" {
					t.Errorf("%+v, %v", p, err)
				}
			}
		})
	}
	group.Wait()
}

// TestFeatures looks at what is read of files around the sizes that matter.
func TestFeatures(t *testing.T) {
	m := &Model{config: config{Beginning: 4, End: 4, Least: 3, Block: 8, Padding: 256}}
	const p = 256
	for _, test := range []struct {
		in      string
		numbers []int32
		label   string
	}{
		{"", nil, empty},
		{"ab", nil, text},
		{"a\xff", nil, unknown},
		{"      ab", nil, text},
		{"   ab   ", []int32{'a', 'b', ' ', ' ', ' ', ' ', 'a', 'b'}, ""}, // space after the beginning counts
		{"        abc", nil, text},
		{"        ab\xff", nil, text}, // only the first block is looked at
		{"abc", []int32{'a', 'b', 'c', p, p, 'a', 'b', 'c'}, ""},
		{" abc\n", []int32{'a', 'b', 'c', '\n', ' ', 'a', 'b', 'c'}, ""},
		{"abcdefgh", []int32{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}, ""},
		{"abc         ", []int32{'a', 'b', 'c', ' ', p, p, p, p}, ""},
		{"\x00\x01\x02\x85\xa0\x1c", []int32{0, 1, 2, 0x85, 2, 0x85, 0xa0, 0x1c}, ""},
	} {
		numbers, label, err := m.features(strings.NewReader(test.in), int64(len(test.in)))
		if err != nil || label != test.label {
			t.Errorf("%q has label %q, %v, want %q", test.in, label, err, test.label)
		}
		if diff := cmp.Diff(test.numbers, numbers); diff != "" {
			t.Errorf("%q: %s", test.in, diff)
		}
	}
	if _, _, err := m.features(strings.NewReader("abc"), 9); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that got shorter: %v", err)
	}
}

// TestLoadErrors gives files that do not belong together.
func TestLoadErrors(t *testing.T) {
	good := `{"beg_size":4,"end_size":4,"min_file_size_for_dl":3,"block_size":8,"target_labels_space":["a"]}`
	for name, test := range map[string]struct{ config, types, want string }{
		"not JSON":   {"{", "{}", "config.json"},
		"no sizes":   {"{}", "{}", "not supported"},
		"no label":   {good, "{}", `the label "a" is not there`},
		"wrong type": {good, `{"a": 1}`, "types.json"},
	} {
		dir := t.TempDir()
		for file, body := range map[string]string{"config.json": test.config, "types.json": test.types} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(body), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Load(os.DirFS(dir), device.CPU); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want it to say %s", name, err, test.want)
		}
	}
}
