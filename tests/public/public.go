// Package public says which packages programs import: those that the documentation of
// the module's root lists. Tests of what people see go over them.
package public

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Packages returns their paths below root, the directory of the module.
func Packages(root string) ([]string, error) {
	file, err := os.Open(filepath.Join(root, "doc.go"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []string
	lines, within := bufio.NewScanner(file), false
	for lines.Scan() {
		text, heading := strings.CutPrefix(lines.Text(), "// # ")
		switch {
		case heading:
			within = text == "What programs import"
		case within && strings.HasPrefix(text, "//\t"):
			list = append(list, strings.Fields(text)[1])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("doc.go lists no packages that programs import")
	}
	for _, p := range list {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(p))); err != nil {
			return nil, fmt.Errorf("doc.go lists a package that is not there: %w", err)
		}
	}
	return list, nil
}
