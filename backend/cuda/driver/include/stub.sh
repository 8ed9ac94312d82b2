#!/bin/sh
# Writes a libcuda.so to link against on machines without the driver: every
# function that a cuda.h declares, each of which fails.
#
# usage: stub.sh FOLDER-OF-CUDA.H OUTPUT-FOLDER
set -eu
mkdir -p "$2"
{
	echo 'int fail(void) { return 34; } /* CUDA_ERROR_STUB_LIBRARY */'
	# Names as they are declared, and those that macros make of them.
	{
		tr -s '\r\n\t' ' ' <"$1/cuda.h" | grep -oE 'CUDAAPI +cu[A-Z][A-Za-z0-9_]*' | sed 's/.* //'
		grep -oE '^ *#define +cu[A-Z][A-Za-z0-9_]+ +(__CUDA_API_PT[SD][ZS]\()?cu[A-Z][A-Za-z0-9_]+' "$1/cuda.h" | sed 's/.*[ (]//'
	} | sort -u | sed 's/.*/int &(void) __attribute__((alias("fail")));/'
} | "${CC:-cc}" -x c -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$2/libcuda.so" -
