package safetensors

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzSafetensors, given a header and the data after it, checks that no input panics, that the two readers agree, and
// that what was read survives being written and read again.
func FuzzSafetensors(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.safetensors")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		n := 8 + binary.LittleEndian.Uint64(raw)
		f.Add(string(raw[8:n]), raw[n:])
	}
	f.Add(tensor(`"F4"`, `[2,3]`, `[0,3]`), make([]byte, 3))
	f.Add(tensor(`"F32"`, `[1,0,4294967296]`, `[0,0]`), []byte{})
	f.Add(`{"__metadata__":{"a":"\u2028\ud800"},"\"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, []byte{7})
	f.Fuzz(func(t *testing.T, header string, data []byte) {
		raw := append(file(header, 0), data...)
		streamed, metadata, streamErr := Read(bytes.NewReader(raw))
		file, err := NewFile(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			if streamErr == nil {
				t.Fatalf("Read accepts what NewFile rejects: %v", err)
			}
			return
		}
		var lazy []Tensor
		for _, name := range file.Names() {
			var tensor Tensor
			if tensor, err = file.Read(name); err != nil {
				break
			}
			lazy = append(lazy, tensor)
		}
		if (err == nil) != (streamErr == nil) {
			t.Fatalf("Read gives error %v, File.Read %v", streamErr, err)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(streamed, lazy, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("tensors (-Read +File.Read):\n%s", diff)
		}
		var again bytes.Buffer
		if err := Write(&again, streamed, metadata); err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		back, backMetadata, err := Read(&again)
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		byName := cmpopts.SortSlices(func(a, b Tensor) bool { return a.Name < b.Name })
		if diff := cmp.Diff(streamed, back, byName, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("tensors (-read +read again):\n%s", diff)
		}
		if diff := cmp.Diff(metadata, backMetadata, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("metadata (-read +read again):\n%s", diff)
		}
	})
}
