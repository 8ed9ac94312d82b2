//go:build linux && !android && !nocuda

#include "go_asm.h"
#include "textflag.h"

GLOBL ·requested(SB), NOPTR|RODATA, $8
DATA ·requested(SB)/8, $request<>(SB)
GLOBL ·completed(SB), NOPTR|RODATA, $8
DATA ·completed(SB)/8, $complete<>(SB)

// void request(uint8_t **buffer, size_t *size, size_t *most), by the C calling convention:
// the first buffer that is free, or none.
TEXT request<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ $0, (DI)
	MOVQ $0, (SI)
	MOVQ $0, (DX)
	MOVQ ·ring(SB), R8
	XORL CX, CX
	MOVQ $const_taken, R9
next:
	MOVQ $const_free, AX
	LOCK
	CMPXCHGQ R9, (R8)(CX*8)
	JEQ  found
	INCQ CX
	CMPQ CX, $const_bufferCount
	JLT  next
	XCHGQ R9, const_lost(R8)
	RET
found:
	MOVQ $const_bufferBytes, (SI)
	SHLQ $const_bufferShift, CX
	ADDQ R8, CX
	ADDQ $const_headerBytes, CX
	MOVQ CX, (DI)
	RET

// void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
TEXT complete<>(SB), NOSPLIT|NOFRAME, $0
	TESTQ DX, DX
	JEQ   none
	MOVQ  ·ring(SB), R9
	SUBQ  R9, DX
	SUBQ  $const_headerBytes, DX
	SHRQ  $const_bufferShift, DX
	ADDQ  $const_full, R8
	XCHGQ R8, (R9)(DX*8)
none:
	RET
