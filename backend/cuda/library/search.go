package library

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// search returns the loader's names of the files, then the paths at which one of
// them is there.
func search(files []file) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.soname)
	}
	for _, dir := range toolkits() {
		for _, f := range files {
			out = appendPresent(out, filepath.Join(dir, f.soname))
		}
	}
	for _, packages := range sitePackages() {
		for _, f := range files {
			out = appendPresent(out, filepath.Join(packages, "nvidia", f.wheel, "lib", f.soname))
		}
	}
	return out
}

func appendPresent(list []string, path string) []string {
	if slices.Contains(list, path) {
		return list
	}
	if _, err := os.Stat(path); err != nil {
		return list
	}
	return append(list, path)
}

// toolkits returns the library folders of CUDA toolkits.
func toolkits() []string {
	var out []string
	for _, root := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if filepath.IsAbs(root) { // a relative one is where the program was started, whoever wrote there
			out = append(out, filepath.Join(root, "lib64"), filepath.Join(root, "lib"))
		}
	}
	return out
}

// sitePackages returns the folders that Python packages lie in.
func sitePackages() []string {
	prefixes := []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, pythonPrefixes(python)...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	var out []string
	for _, prefix := range prefixes {
		if !filepath.IsAbs(prefix) {
			continue
		}
		for _, pattern := range []string{"lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages"} {
			// The error is of malformed patterns: a prefix with a bracket finds nothing.
			found, _ := filepath.Glob(filepath.Join(prefix, pattern))
			slices.Reverse(found) // newer versions sort last
			for _, dir := range found {
				if !slices.Contains(out, dir) {
					out = append(out, dir)
				}
			}
		}
	}
	return out
}

// pythonPrefixes returns the installations that a Python program may belong to:
// those of the program itself and of each link on the way to the file. A virtual
// environment's program is a link to the one it was made from.
func pythonPrefixes(program string) []string {
	const maxLinks = 16
	var out []string
	for range maxLinks {
		if filepath.IsAbs(program) {
			out = append(out, filepath.Dir(filepath.Dir(program)))
		}
		target, err := os.Readlink(program)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(program), target)
		}
		program = target
	}
	return out
}
