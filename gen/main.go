// Command gen turns a schema of operators into Go packages, CUDA sources, test
// tables and documentation.
//
//	go run ./gen                                     in this module
//	//go:generate go tool gen -schema ops.yaml -out .   in another one
//	... -assembly=false                              without files of assembly
//
// The other module names this command in its go.mod:
//
//	tool github.com/sinter-go/sinter/gen
//
// Nothing is written when there is any mistake. Files that did not change are
// left alone, and files that an earlier run wrote and no operator needs any more
// are deleted. With -check nothing is written either: what is stale or left over
// is printed, and the exit status is 1. Otherwise the stages are told of on standard
// error as they begin.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run executes the command; out receives what -check finds, progress the stages.
func run(args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	file := flags.String("schema", "ops.yaml", "schema `file`")
	dir := flags.String("out", "", "output `directory` in the module (default: generated in this module, . elsewhere)")
	check := flags.Bool("check", false, "write nothing; report what is stale or left over")
	assembly := flags.Bool("assembly", true, "emit vector code as assembly; if not, programs make it when they first use a loop (not for the standard schema)")
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err == flag.ErrHelp {
		flags.SetOutput(out)
		flags.PrintDefaults()
		return nil
	} else if err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("gen: unexpected argument %q", flags.Arg(0))
	}
	if *check {
		progress = io.Discard
	}
	p, err := load(*file, *dir, *assembly, progress)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "gen: comparing %d files\n", len(p.files))
	changes, err := p.compare()
	if err != nil {
		return err
	}
	if *check {
		for _, c := range changes {
			fmt.Fprintln(out, c)
		}
		if len(changes) > 0 {
			return fmt.Errorf("gen: %d files differ from %s; run go generate", len(changes), *file)
		}
		return nil
	}
	fmt.Fprintf(progress, "gen: %d files to write or delete\n", len(changes))
	return p.apply(changes)
}
