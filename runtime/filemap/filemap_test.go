package filemap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter/runtime/filemap"
)

// What is mapped is what the file has, also after it was closed and after the memory was given
// back.
func TestOpen(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 100_001} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i * 7 >> 3)
		}
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := filemap.Open(f)
		f.Close()
		if err != nil || !bytes.Equal(m.Bytes(), want) {
			t.Fatalf("%d bytes: %d of them, %v", n, len(m.Bytes()), err)
		}
		if m.Forget(); !bytes.Equal(m.Bytes(), want) {
			t.Errorf("%d bytes: others after Forget", n)
		}
		for _, part := range [][2]int{{0, n}, {n / 3, n / 2}, {n / 2, n}, {n, n}} {
			if m.ForgetPart(m.Bytes()[part[0]:part[1]]); !bytes.Equal(m.Bytes(), want) {
				t.Errorf("%d bytes: others after %v were forgotten", n, part)
			}
		}
	}
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := filemap.Open(f); err == nil {
		t.Error("a directory was opened")
	}
}
