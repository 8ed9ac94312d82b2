// Package all is the one list of backends that a program contains: those that can work
// where it was built for.
package all
