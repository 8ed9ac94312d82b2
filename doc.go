// Package sinter is a tensor compiler: one schema, ops.yaml, says what every
// operator means, and a generator turns it into the Go packages that programs
// import, CPU kernels, CUDA kernels, gradients, tests and documentation. This
// package holds the schema and the version, and nothing else.
//
// # What programs import
//
// All programs need the first of these, and the others as they come:
//
//	generated/tensor         tensors and operators
//	generated/tensor/out     operators that write to a tensor there is
//	nn                       layers and models
//	optim                    optimizers, schedules, clipping of gradients
//	optim/checkpoint         a whole training run in one file
//	data                     datasets, loaders, files of tensors
//	data/digits              handwritten digits to try things with
//	data/npy                 NumPy's files as bytes
//	data/safetensors         safetensors files as bytes
//	data/torchfile           PyTorch's files as bytes
//	compile                  functions recorded once and run as programs
//	dist                     training over several devices and processes
//	onnx                     models in the ONNX format
//	profile                  traces of what ran when
//	backend/cuda             NVIDIA GPUs: streams, events, graphs, memory
//	backend/sim              simulated accelerators, for tests
//	runtime/device           devices of every kind
//	runtime/random           the state of random numbers
//	runtime/precision        choices between speed and precision
//	runtime/stream           streams and events of devices of every kind
//	runtime/graph            recorded work of devices of every kind
//	runtime/memory           the caching allocators
//	runtime/memory/figures   what they count
//	runtime/memory/pprof     where memory comes from, for go tool pprof
//	runtime/fftplans         the caches of plans of Fourier transforms
//	runtime/option           optional arguments, for functions of other modules
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
//	  generated/ref     the reference's kernels, for programs that simulate devices
//	backend/all         the one list of backends
//	  backend/cpu       worker pool, loops over layouts, hand-written kernels
//	  backend/cuda      the CUDA driver, opened at run time
//	  backend/sim       simulated accelerators over backend/ref
//	  backend/ref       interprets the expressions of the schema; the oracle
//	runtime/core        tensor handles, application of operators, differentiation
//	  runtime/...       memory, streams, graphs, random state
//	  runtime/device    devices and what a backend provides
//	codegen/...         vector code, printed for the generator and made at run time; CUDA C++
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
