package module

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/nvrtc"
	"github.com/sinter-go/sinter/tests/self"
)

func testCache(dir string) *Cache {
	return &Cache{dir: dir, limit: maxCached, append: (*os.File).Write}
}

// codeOf is what a test stores under a name.
func codeOf(name string) []byte { return bytes.Repeat([]byte("code of "+name+"\n"), 100) }

// logged returns what f logs.
func logged(t *testing.T, f func()) string {
	t.Helper()
	var out bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(old)
	f()
	return out.String()
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "to", "make")
	said := logged(t, func() {
		if code := testCache(dir).Get("a.bin"); code != nil {
			t.Errorf("from an empty directory: %q", code)
		}
		testCache(dir).Put("a.bin", codeOf("a"))
		testCache(dir).Put("b.bin", codeOf("b"))
	})
	for _, name := range []string{"a", "b"} {
		if diff := cmp.Diff(codeOf(name), testCache(dir).Get(name+".bin")); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"a.bin", "b.bin"}, files(t, dir)); diff != "" || said != "" {
		t.Errorf("files: %s, logged: %s", diff, said)
	}
}

func TestCacheDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	testCache(dir).Put("a.bin", codeOf("a"))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, data := range map[string][]byte{
		"empty": {}, "short": good[:10], "no code": good[:len(magic)+32], "cut": good[:len(good)-1],
		"longer": append(bytes.Clone(good), 0), "a bit": flipped, "other": []byte("something else altogether"),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if code := testCache(dir).Get("a.bin"); code != nil {
			t.Errorf("%s: %d bytes of code", name, len(code))
		}
		if left := files(t, dir); len(left) != 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		testCache(dir).Put("a.bin", codeOf("a"))
		if !bytes.Equal(testCache(dir).Get("a.bin"), codeOf("a")) {
			t.Errorf("%s: not replaced", name)
		}
	}
}

// TestCacheUnusable: what cannot be written is said once and harms nothing.
func TestCacheUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := testCache(t.TempDir())
	full.append = func(f *os.File, data []byte) (int, error) {
		n, _ := f.Write(data[:len(data)/2])
		return n, syscall.ENOSPC
	}
	for name, test := range map[string]struct {
		c    *Cache
		says string
	}{
		"a file in its place": {testCache(file), file},
		"below a file":        {testCache(filepath.Join(file, "dir")), file},
		"full":                {full, syscall.ENOSPC.Error()},
	} {
		said := logged(t, func() {
			for range 3 {
				test.c.Put("a.bin", codeOf("a"))
				if code := test.c.Get("a.bin"); code != nil {
					t.Errorf("%s: %d bytes of code", name, len(code))
				}
			}
		})
		if strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, test.says) || !strings.Contains(said, "SINTER_KERNEL_CACHE_PATH") {
			t.Errorf("%s: logged %q", name, said)
		}
	}
	if left := files(t, full.dir); len(left) != 0 {
		t.Errorf("left in the full directory: %v", left)
	}
}

func TestOpenCache(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SINTER_KERNEL_CACHE_PATH", dir)
	if got := OpenCache().dir; got != dir {
		t.Errorf("dir = %q, want %q", got, dir)
	}
	t.Setenv("SINTER_KERNEL_CACHE_PATH", "")
	for _, home := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(home, "")
	}
	var c *Cache
	said := logged(t, func() {
		c = OpenCache()
		c.Put("a.bin", codeOf("a"))
	})
	if c.Get("a.bin") != nil || strings.Count(said, "level=WARN") != 1 {
		t.Errorf("without a home directory: logged %q", said)
	}
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("LocalAppData", dir)
	if got := OpenCache().dir; !strings.HasPrefix(got, dir) || filepath.Base(got) != "kernels" {
		t.Errorf("dir = %q", got)
	}
}

func TestPrune(t *testing.T) {
	c := testCache(t.TempDir())
	size := int64(len(codeOf("0")) + len(magic) + 32)
	c.limit = 8 * size
	start := time.Now().Add(-time.Hour)
	touch := func(name string, at time.Time) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(c.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		name := fmt.Sprint(i, extension)
		c.Put(name, codeOf("0"))
		touch(name, start.Add(time.Duration(i)*time.Minute))
	}
	for name, age := range map[string]time.Duration{tempPrefix + "old": 2 * tempAge, tempPrefix + "new": 0, "mine.txt": 2 * tempAge} {
		if err := os.WriteFile(filepath.Join(c.dir, name), make([]byte, 10*size), 0o600); err != nil {
			t.Fatal(err)
		}
		touch(name, time.Now().Add(-age))
	}
	if c.Get("0.bin") == nil { // which makes it the one used last
		t.Fatal("no 0.bin")
	}
	c.Put("8.bin", codeOf("0"))
	want := []string{tempPrefix + "new", "0.bin", "4.bin", "5.bin", "6.bin", "7.bin", "8.bin", "mine.txt"}
	if diff := cmp.Diff(want, files(t, c.dir)); diff != "" {
		t.Error(diff)
	}
}

func TestEntryName(t *testing.T) {
	p := nvrtc.Program{Name: "m.cu", Source: "s", Headers: map[string]string{"a": "1", "b": "2"}, Target: "sm_90", Options: []string{"-x"}}
	want := EntryName("m", "12.6", p)
	if again := EntryName("m", "12.6", p); again != want || !strings.HasPrefix(want, "m-sm_90-sass-nvrtc12.6-") {
		t.Errorf("%s, then %s", want, again)
	}
	seen := map[string]string{want: "the first"}
	for what, change := range map[string]func(p *nvrtc.Program){
		"source": func(p *nvrtc.Program) { p.Source = "t" },
		"target": func(p *nvrtc.Program) { p.Target = "sm_80" },
		"option": func(p *nvrtc.Program) { p.Options = []string{"-y"} },
		"header": func(p *nvrtc.Program) { p.Headers = map[string]string{"a": "1", "b": "3"} },
		"names":  func(p *nvrtc.Program) { p.Headers = map[string]string{"a": "1", "c": "2"} },
		"fewer":  func(p *nvrtc.Program) { p.Headers = map[string]string{"a": "1"} },
		"shift":  func(p *nvrtc.Program) { p.Source, p.Options = "s-x", nil },
	} {
		q := p
		change(&q)
		name := EntryName("m", "12.6", q)
		if other, is := seen[name]; is {
			t.Errorf("%s and %s have one name", what, other)
		}
		seen[name] = what
	}
	if name := EntryName("m", "12.7", p); seen[name] != "" {
		t.Errorf("another version has the name of %s", seen[name])
	}
	odd := EntryName("../a/b\\c:"+strings.Repeat("x", 300), "12.6", p)
	if strings.ContainsAny(odd, `/\:`) || strings.HasPrefix(odd, ".") || len(odd) > 200 {
		t.Errorf("name of a file: %q", odd)
	}
}

// TestCacheProcesses: processes that read, write and prune one directory see whole
// entries or none.
func TestCacheProcesses(t *testing.T) {
	const variable = "SINTER_TEST_CACHE"
	if dir := os.Getenv(variable); dir != "" {
		c := testCache(dir)
		c.limit = 3 * int64(len(codeOf("0.bin")))
		for range 300 {
			name := fmt.Sprint(rand.IntN(6), extension)
			if code := c.Get(name); code != nil && !bytes.Equal(code, codeOf(name)) {
				t.Fatalf("%s: %d bytes of other code", name, len(code))
			}
			c.Put(name, codeOf(name))
		}
		return
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		cmd := self.Command(t, []string{variable + "=" + dir}, "-test.run=^TestCacheProcesses$")
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("WARN")) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	found := 0
	for i := range 6 {
		name := fmt.Sprint(i, extension)
		code := testCache(dir).Get(name)
		if code != nil && !bytes.Equal(code, codeOf(name)) {
			t.Errorf("%s: %d bytes of other code", name, len(code))
		}
		if code != nil {
			found++
		}
	}
	if found == 0 {
		t.Error("nothing is left")
	}
	for _, name := range files(t, dir) {
		if strings.HasPrefix(name, tempPrefix) {
			t.Errorf("%s is left", name)
		}
	}
}
