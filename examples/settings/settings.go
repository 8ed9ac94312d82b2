// Package settings reads the command lines of programs whose settings are flags alone.
package settings

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Parse is flag.Parse. It ends a program that is given anything else, which would have no
// effect: a flag without its dash, or behind a word.
func Parse() {
	flag.Parse()
	if flag.NArg() == 0 {
		return
	}
	fmt.Fprintf(flag.CommandLine.Output(), "%s: unknown arguments %q; settings are flags\n", filepath.Base(os.Args[0]), flag.Args())
	flag.Usage()
	os.Exit(2)
}
