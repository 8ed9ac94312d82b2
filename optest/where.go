package optest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// where returns the line of the schema that o is described in, as file:line. The file is
// looked for in the working directory, which is that of the test, and above it; without it
// where returns the names of the file and the operator.
func (o *Operator) where() string {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, o.Schema)
		if text, readErr := os.ReadFile(path); readErr == nil && o.Schema != "" {
			number := 0
			for line := range strings.Lines(string(text)) {
				number++
				if strings.Contains(line, "op: "+o.Op.Name+"(") {
					return fmt.Sprintf("%s:%d", path, number)
				}
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return o.Schema + ": op " + o.Op.Name
}
