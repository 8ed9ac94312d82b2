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
	MOVD ZR, (R0)
	MOVD ZR, (R1)
	MOVD ZR, (R2)
	MOVD $·ring(SB), R3
	MOVD (R3), R3
	MOVD R3, R4 // the state of buffer R5
	MOVD $0, R5
	MOVD $const_taken, R6
next:
	LDAXR (R4), R7
	CBNZ  R7, other
	STLXR R6, (R4), R8
	CBNZW R8, next
	LSL   $const_bufferShift, R5, R5
	ADD   R3, R5, R5
	MOVD  $const_headerBytes, R6
	ADD   R6, R5, R5
	MOVD  R5, (R0)
	MOVD  $const_bufferBytes, R6
	MOVD  R6, (R1)
	RET
other:
	ADD  $8, R4, R4
	ADD  $1, R5, R5
	CMP  $const_bufferCount, R5
	BLT  next
	MOVD R6, (R4) // lost
	RET

// void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
TEXT complete<>(SB), NOSPLIT|NOFRAME, $0
	CBZ  R2, none
	MOVD $·ring(SB), R5
	MOVD (R5), R5
	SUB  R5, R2, R2
	MOVD $const_headerBytes, R6
	SUB  R6, R2, R2
	LSR  $const_bufferShift, R2, R2
	LSL  $3, R2, R2
	ADD  R5, R2, R2
	ADD  $const_full, R4, R4
	STLR R4, (R2)
none:
	RET
