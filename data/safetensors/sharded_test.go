package safetensors

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/ir"
)

// TestSharded reads tensors of two files by their index.
func TestSharded(t *testing.T) {
	dir := t.TempDir()
	a := Tensor{"a", ir.Int16, []int{2}, []byte{1, 0, 2, 0}}
	b, spare := Tensor{"b", ir.Uint8, []int{}, []byte{7}}, Tensor{"spare", ir.Uint8, []int{1}, []byte{9}}
	for name, list := range map[string][]Tensor{"one.safetensors": {a}, "two.safetensors": {b, spare}} {
		if err := WriteFile(filepath.Join(dir, name), list, nil); err != nil {
			t.Fatal(err)
		}
	}
	index := filepath.Join(dir, "model.safetensors.index.json")
	write := func(text string) {
		if err := os.WriteFile(index, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"metadata": {"total_size": 5, "by": "hand"}, "weight_map": {"b": "two.safetensors", "a": "one.safetensors"}}`)
	s, err := OpenSharded(index)
	if err != nil {
		t.Fatal(err)
	}
	var got []Tensor
	for _, name := range s.Names() {
		x, err := s.Read(name)
		if err != nil {
			t.Error(err)
		}
		info, err := s.Info(name)
		if err != nil || info.DType != x.DType {
			t.Errorf("%s: Info has %v, %v", name, info, err)
		}
		got = append(got, x)
	}
	if diff := cmp.Diff([]Tensor{a, b}, got); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"total_size": "5", "by": "hand"}, s.Metadata()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if _, err := s.Read("spare"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a tensor that the index leaves out: error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	for _, c := range []struct{ name, index, text string }{
		{"no JSON", `{`, "not a valid safetensors file"},
		{"no map", `{"metadata": {}}`, "no weight_map"},
		{"above", `{"weight_map": {"a": "../one.safetensors"}}`, "beside the index"},
		{"absolute", `{"weight_map": {"a": "/one.safetensors"}}`, "beside the index"},
		{"parent", `{"weight_map": {"a": ".."}}`, "beside the index"},
		{"no file", `{"weight_map": {"a": "three.safetensors"}}`, "three.safetensors"},
		{"other file", `{"weight_map": {"a": "two.safetensors"}}`, `has no tensor "a"`},
	} {
		write(c.index)
		if _, err := OpenSharded(index); err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), index) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.text)
		}
	}
}
