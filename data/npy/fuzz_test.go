package npy

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzNpy checks that no input panics, as an array or as an archive, and that
// what was read survives being written and read again.
func FuzzNpy(f *testing.F) {
	for _, path := range []string{"testdata/cases.npz", "testdata/rejected.npz"} {
		raw := members(f, path)
		for _, name := range slices.Sorted(maps.Keys(raw)) {
			f.Add(raw[name])
		}
	}
	for _, path := range []string{"testdata/stored.npz", "testdata/deflated.npz"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if a, err := Read(bytes.NewReader(raw)); err == nil {
			roundTrip(t, a)
		}
		archive, err := NewArchive(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		for _, name := range archive.Names() {
			a, err := archive.Read(name)
			if err != nil {
				continue
			}
			roundTrip(t, a)
		}
	})
}

func roundTrip(t *testing.T, a Array) {
	t.Helper()
	var w bytes.Buffer
	if err := Write(&w, a); err != nil {
		t.Fatalf("cannot write what was read: %v", err)
	}
	back, err := Read(&w)
	if err != nil {
		t.Fatalf("cannot read what was written: %v", err)
	}
	if diff := cmp.Diff(a, back, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("array (-read +read again):\n%s", diff)
	}
}
