package shm

import (
	"os"
	"testing"
	"unsafe"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSegment opens a segment twice in one process: a page of each is the same memory.
func TestSegment(t *testing.T) {
	made, err := Create(5000)
	if err != nil {
		t.Skip(err)
	}
	opened, err := Open(made.Name, 5000)
	must(t, err)
	unsafe.Slice((*byte)(made.Data), 5000)[4999] = 7
	if v := unsafe.Slice((*byte)(opened.Data), 5000)[4999]; v != 7 {
		t.Errorf("the other mapping has %d, want 7", v)
	}
	if _, err := Open(made.Name, 5001); err == nil {
		t.Error("more bytes were opened than there are")
	}
	must(t, opened.Close())
	must(t, made.Close())
	if _, err := Open(made.Name, 5000); err == nil {
		t.Error("a segment that is gone was opened")
	}
	if _, err := Create(0); err == nil {
		t.Error("a segment of no bytes was made")
	}
}

// TestFile shares a file's lock, and finds it free once it was closed.
func TestFile(t *testing.T) {
	made, err := Publish([]byte("what is shown"))
	if err != nil {
		t.Skip(err)
	}
	found, content, err := Find(made.Name)
	must(t, err)
	if string(content) != "what is shown" {
		t.Errorf("the content is %q", content)
	}
	want := func(what string, f *File, alone, free bool) {
		t.Helper()
		if got, err := f.Lock(alone); err != nil || got != free {
			t.Errorf("%s: %t, %v; want %t", what, got, err, free)
		}
	}
	want("shared by the first", made, false, true)
	want("shared by the second", found, false, true)
	want("the second alone", found, true, false)
	must(t, made.Close())
	want("the second alone, after the first is gone", found, true, true)
	must(t, found.Unlock())
	must(t, found.Close())
}

// TestNames refuses what is no name of shared memory: anything else could be opened by it.
func TestNames(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	defer file.Close()
	for _, name := range []string{"", "/etc/passwd", file.Name(), "/proc/self/fd/1", "/proc/1/fd/../exe", "/proc/-1/fd/2"} {
		if _, _, err := Find(name); err == nil {
			t.Errorf("%q was found", name)
		}
		if Process(name) != 0 {
			t.Errorf("%q is of process %d", name, Process(name))
		}
	}
}
