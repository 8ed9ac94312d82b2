package library

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place makes empty files under dir.
func place(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// isolate empties the environment that the search reads and returns a root.
func isolate(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("PATH", filepath.Join(root, "path"))
	return root
}

// under returns the paths below root, relative to it.
func under(root string, paths []string) []string {
	var out []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, root+string(filepath.Separator)); ok {
			out = append(out, filepath.ToSlash(rest))
		}
	}
	return out
}

func TestSearchOrder(t *testing.T) {
	root := isolate(t)
	place(t, root,
		"home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
		"venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
		"venv/lib/python3.12/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
		"venv/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12",
		"conda/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
		"path.cuda/lib64/libcublasLt.so.12",
		"home.cuda/lib64/libcublasLt.so.12",
		"home.cuda/lib64/libcublasLt.so.13",
	)
	t.Setenv("CUDA_HOME", filepath.Join(root, "home.cuda"))
	t.Setenv("CUDA_PATH", filepath.Join(root, "path.cuda"))
	t.Setenv("VIRTUAL_ENV", filepath.Join(root, "venv"))
	t.Setenv("CONDA_PREFIX", filepath.Join(root, "conda"))

	got := search(products[CUBLASLt].files)
	if diff := cmp.Diff([]string{"libcublasLt.so.13", "libcublasLt.so.12"}, got[:2]); diff != "" {
		t.Errorf("the loader's names come first (-want +got):\n%s", diff)
	}
	want := []string{
		"home.cuda/lib64/libcublasLt.so.13",
		"home.cuda/lib64/libcublasLt.so.12",
		"path.cuda/lib64/libcublasLt.so.12",
		"venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
		"venv/lib/python3.12/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
		"conda/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
		"home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
	}
	if runtime.GOOS == "windows" {
		t.Skip("the user's home is not in HOME there")
	}
	if diff := cmp.Diff(want, under(root, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPythonInPath has python3 in PATH be a link into a virtual environment,
// whose program links to a system's.
func TestPythonInPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	root := isolate(t)
	place(t, root,
		"system/bin/python3.12",
		"system/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
		"venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
		"venv/pyvenv.cfg",
	)
	for _, dir := range []string{"venv/bin", "path"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"path/python3":     filepath.Join(root, "venv/bin/python3"),
		"venv/bin/python3": "../../system/bin/python3.12",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
		"system/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
	}
	if diff := cmp.Diff(want, under(root, search(products[NCCL].files))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoRelativePath has every variable that the search reads name a folder relative to
// where the program runs, in which others may have put files: none is followed.
func TestNoRelativePath(t *testing.T) {
	root := isolate(t)
	place(t, root,
		"cuda/lib64/libcublasLt.so.13",
		"env/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
		"home/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
		"env/bin/python3",
	)
	absolute := search(products[CUBLASLt].files)
	t.Chdir(root)
	for _, relative := range []struct{ name, to string }{
		{"CUDA_HOME", "cuda"},
		{"CUDA_PATH", "./cuda"},
		{"VIRTUAL_ENV", "env"},
		{"CONDA_PREFIX", "cuda/../env"},
		{"HOME", "home"},
		{"PATH", "env/bin"},
	} {
		t.Run(relative.name, func(t *testing.T) {
			t.Setenv(relative.name, relative.to)
			for _, path := range search(products[CUBLASLt].files) {
				if filepath.Base(path) != path && !slices.Contains(absolute, path) {
					t.Errorf("%s=%s: %s is tried", relative.name, relative.to, path)
				}
			}
		})
	}
}

func TestSuited(t *testing.T) {
	for _, c := range []struct {
		name  Name
		major int
		want  []string
	}{
		{CUBLASLt, 14, []string{"libcublasLt.so.13", "libcublasLt.so.12"}},
		{CUBLASLt, 13, []string{"libcublasLt.so.13", "libcublasLt.so.12"}},
		{CUBLASLt, 12, []string{"libcublasLt.so.12"}},
		{CUFFT, 12, []string{"libcufft.so.11"}},
		{CUDNN, 12, []string{"libcudnn.so.9"}},
		{NVRTC, 11, []string{"libnvrtc.so.13", "libnvrtc.so.12"}},
	} {
		var got []string
		for _, f := range suited(products[c.name].files, c.major) {
			got = append(got, f.soname)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v for CUDA %d (-want +got):\n%s", c.name, c.major, diff)
		}
	}
}

func TestEnvironmentNamesTheFile(t *testing.T) {
	t.Setenv("SINTER_CUDNN", "/some/libcudnn.so.9")
	if diff := cmp.Diff([]string{"/some/libcudnn.so.9"}, Paths(CUDNN)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Setenv("SINTER_CUDNN", "none")
	if got := Paths(CUDNN); got != nil {
		t.Errorf("none: %q", got)
	}
	if _, err := open(CUDNN, nil); err == nil || !strings.Contains(err.Error(), "SINTER_CUDNN=none") {
		t.Errorf("none: %v", err)
	}
}

// TestMissing reads the message a user gets.
func TestMissing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("libraries are not looked for here")
	}
	none := filepath.Join(t.TempDir(), "libcublasLt.so.13")
	_, err := open(CUBLASLt, []string{none})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"cuBLASLt is missing", none, "pip install nvidia-cublas", "SINTER_CUBLASLT"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for path, want := range map[string]int{"libnvrtc.so.13": 13, "/a/b/libcufft.so.11.0.2": 11, "libx.so": 0} {
		if got := Version(path); got != want {
			t.Errorf("Version(%q) = %d, want %d", path, got, want)
		}
	}
}
