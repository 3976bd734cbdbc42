// Command compat says whether a contract may change as it did (spec 9.3). Run it at the root of the repository.
//
//	go run ./schemas/compat              hold schemas/ to the lock and to its released forms, as make verify does
//	go run ./schemas/compat OLD NEW      compare two files: as input and as events, or as documents
//	go run ./schemas/compat -release     take up what grew as released; refused while anything is broken
//
// It exits with 0 where nothing breaks, with 1 where something does, with 2 where that could not be found out.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"iris.example/iris/schemas/growth"
)

func main() {
	if err := run("schemas", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		if errors.Is(err, growth.ErrBroken) {
			os.Exit(1)
		}
		os.Exit(2)
	}
}

func run(dir string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compat", flag.ContinueOnError)
	flags.SetOutput(out)
	release := flags.Bool("release", false, "take up what grew as released")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() == 2 && !*release:
		return compare(flags.Arg(0), flags.Arg(1), out)
	case flags.NArg() != 0:
		return errors.New("takes OLD and NEW, or -release, or nothing")
	case *release:
		written, err := growth.Release(dir)
		for _, name := range written {
			fmt.Fprintln(out, "released", name)
		}
		return err
	}
	return verify(dir, out)
}

func verify(dir string, out io.Writer) error {
	breaches, err := growth.Verify(os.DirFS(dir))
	if err != nil {
		return err
	}
	waiting, err := growth.Unreleased(os.DirFS(dir))
	for _, name := range waiting {
		fmt.Fprintln(out, "not released yet:", name)
	}
	return errors.Join(err, growth.Broken(breaches))
}

func compare(before, now string, out io.Writer) error {
	var breaches []growth.Breach
	directions, err := growth.Directions(version(before))
	if err != nil {
		return err
	}
	for _, as := range directions {
		found, err := growth.Compare(version(before), version(now), as)
		if err != nil {
			return err
		}
		for _, f := range found {
			breaches = append(breaches, growth.Breach{File: now, As: as, Finding: f})
		}
		fmt.Fprintf(out, "as %s: %d breaking\n", as, len(found))
	}
	return growth.Broken(breaches)
}

func version(name string) growth.Version {
	return growth.Version{Open: os.ReadFile, Name: filepath.ToSlash(name)}
}
