package code

import (
	"embed"
	"io/fs"
	"reflect"
	"sync/atomic"
)

// A Lease is held by sources that are dropped one day, as those of compiled programs are.
// Whoever loads code of such a source, or has it in a table, knows it by its Identity, holds
// neither, and lets go of what there is when the collector has found that nobody holds the
// lease.
type Lease struct{ id any }

// A leaseID is the identity of what has a lease.
type leaseID uint64

var leases atomic.Uint64

// NewLease returns a lease for one source.
func NewLease() *Lease { return &Lease{leaseID(leases.Add(1))} }

// ID returns the identity of what has the lease, which is no other's, ever.
func (l *Lease) ID() any { return l.id }

// LeaseOf returns the lease of a source, nil for what stays as long as the process.
func LeaseOf(src fs.FS) *Lease {
	if of, ok := src.(interface{ Lease() *Lease }); ok {
		return of.Lease()
	}
	return nil
}

// Identity returns what a source is known by in tables: itself, or the ID of its lease. It
// reports false for what cannot be a key of a map.
func Identity(src fs.FS) (id any, ok bool) {
	switch src.(type) {
	case nil:
		return nil, true
	case embed.FS:
		return src, true // without the allocations of the rest
	}
	if l := LeaseOf(src); l != nil {
		return l.id, true
	}
	t := reflect.TypeOf(src)
	return src, t.Kind() == reflect.Pointer || t.Comparable() && reflect.ValueOf(src).Comparable()
}
