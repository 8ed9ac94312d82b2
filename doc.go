// Package sinter is a tensor compiler: one schema, ops.yaml, says what every
// operator means, and a generator turns it into the Go packages that programs
// import, CPU kernels, CUDA kernels, gradients, tests and documentation. This
// package holds the schema and the version, and nothing else.
//
// Programs import
//
//	generated/tensor   tensors and operators
//	runtime/device     devices
//	runtime/random     the random state
//
// and, as they need them, nn, optim, optim/checkpoint and data.
//
// # Map
//
// Arrows of imports go down; tests keep them so.
//
//	gen                 go run ./gen [-schema file] [-out dir] [-check]
//	  gen/emit          from a checked schema to files, one package an artefact
//	  gen/schema        from YAML to a checked schema
//	generated/opcases   test data of every operator; emitted, as all of generated
//	optest              runs it on any device
//	generated/tensor    what programs import
//	  generated/ops     operators on core handles, gradients, descriptors
//	  generated/cpu     scalar functions and loops
//	  generated/cuda    names of device code; its source is in kernels
//	  generated/ref     the reference's kernels, for programs that simulate devices
//	backend/all         the one list of backends
//	  backend/cpu       worker pool, loops over layouts, hand-written kernels
//	  backend/cuda      the CUDA driver, opened at run time
//	  backend/sim       simulated accelerators over backend/ref
//	  backend/ref       interprets the expressions of the schema; the oracle
//	runtime/core        tensor handles, application of operators, differentiation
//	  runtime/...       memory, streams, graphs, random state
//	  runtime/device    devices and what a backend provides
//	codegen/...         vector code, printed for the generator and made at run time
//	ir                  dtypes, layouts, descriptors, calls
//	  ir/body           what a descriptor computes, as a typed graph
//	  ir/expr           the scalar expression language and its lowerings
//	  ir/num            its functions in Go
//	  ir/shapes         shape rules, and what compositions compute with shapes
//
// A call of an operator passes core a pointer to the operator's descriptor
// (ir.Op), and core passes the backend of the operands' device the same pointer
// in an ir.Call. What the descriptor holds is what is supported: there is no
// other list of operators.
//
// docs/schema.md is the grammar of the schema, docs/architecture.md the map, and
// docs/RATIONALE.md has the reasons. docs/guide is for those who write programs.
package sinter

import _ "embed"

//go:generate go run ./gen

// Schema is the schema of the standard operators. Other modules' schemas may
// refer to what it defines.
//
//go:embed ops.yaml
var Schema []byte
