package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

func TestNumPyArchives(t *testing.T) {
	arrays := expected(t)
	want := []Named{{"weight", arrays["float32"]}, {"nested/bias", arrays["int16"]}}
	for _, path := range []string{"testdata/stored.npz", "testdata/deflated.npz"} {
		got, err := ReadArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	path := filepath.Join(t.TempDir(), "a.npz")
	for c, reference := range map[Compression]string{Store: "testdata/stored.npz", Deflate: "testdata/deflated.npz"} {
		if err := WriteArchiveFile(path, want, c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(members(t, reference), members(t, path)); diff != "" {
			t.Errorf("members (-NumPy +ours):\n%s", diff)
		}
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := z.File[0].Method; got != uint16(c) {
			t.Errorf("method %d, want %d", got, c)
		}
		z.Close()
	}
	if err := WriteArchiveFile(path, []Named{{}}, Store); !errors.Is(err, ErrDType) {
		t.Errorf("a zero array gave %v", err)
	}
	if _, err := ReadArchive(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}

func TestArchive(t *testing.T) {
	a, err := OpenArchive("testdata/cases.npz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range a.Names() {
		if _, err := a.Read(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Read("nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown name gave %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestArchiveDeterministic(t *testing.T) {
	arrays := []Named{{"b", Array{ir.Uint8, []int{3}, []byte{1, 2, 3}}}, {"a", Array{ir.Bool, nil, []byte{1}}}}
	var one, two bytes.Buffer
	for _, w := range []*bytes.Buffer{&one, &two} {
		if err := WriteArchive(w, arrays, Deflate); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same arrays gave different bytes")
	}
}

func TestWriteArchiveErrors(t *testing.T) {
	a := Array{ir.Uint8, []int{1}, []byte{1}}
	cases := []struct {
		name   string
		arrays []Named
		c      Compression
		want   string
	}{
		{"same name", []Named{{"a", a}, {"a", a}}, Store, `"a" is there twice`},
		{"not UTF-8", []Named{{"\xff", a}}, Store, "UTF-8"},
		{"compression", []Named{{"a", a}}, 12, "compression 12 (have Store and Deflate)"},
	}
	for _, c := range cases {
		var w bytes.Buffer
		err := WriteArchive(&w, c.arrays, c.c)
		if err == nil || !strings.Contains(err.Error(), c.want) || w.Len() != 0 {
			t.Errorf("%s: error %v after %d bytes; want one with %q", c.name, err, w.Len(), c.want)
		}
	}
}

// pack returns a zip archive of the given members, names and contents in turn.
func pack(t testing.TB, method uint16, members ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestMalformedArchives(t *testing.T) {
	array := string(shaped("|u1", "(4,)", 4))
	stored := pack(t, zip.Store, "a.npy", array)
	flipped := bytes.Replace(stored, []byte("\n\x00\x00\x00\x00"), []byte("\n\x00\x00\x01\x00"), 1)
	deflated := pack(t, zip.Deflate, "a.npy", array)
	noise := bytes.Clone(deflated)
	for i := 30 + len("a.npy"); i < 60; i++ {
		noise[i] = 0xff
	}
	cases := []struct {
		name  string
		input []byte
		want  string
	}{
		{"empty", nil, "zip: not a valid zip file"},
		{"an npy file", []byte(array), "zip: not a valid zip file"},
		{"cut", stored[:len(stored)-1], "zip"},
		{"same name", pack(t, zip.Store, "a.npy", array, "a.npy", array), `"a" is there twice`},
		{"not an array", pack(t, zip.Store, "a.npy", "PK, or something like it"), "begins with"},
		{"empty member", pack(t, zip.Store, "a.npy", ""), "EOF"},
		{"longer than the array", pack(t, zip.Store, "a.npy", array+"x"), "more bytes follow"},
		{"declares more than it has", pack(t, zip.Deflate, "a.npy", string(shaped("<f8", fmt.Sprintf("(%d,)", math.MaxInt/64), 4))), fmt.Sprintf("takes %d bytes", math.MaxInt/64*8)},
		{"wrong checksum", flipped, "checksum"},
		{"noise", noise, "flate"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := NewArchive(bytes.NewReader(c.input), int64(len(c.input)))
			if err == nil {
				_, err = a.Read("a")
			}
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want ErrFormat with %q", err, c.want)
			}
		})
	}
	other := pack(t, zip.Store, "readme.txt", "hello", "a.npy", array)
	a, err := NewArchive(bytes.NewReader(other), int64(len(other)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, a.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
