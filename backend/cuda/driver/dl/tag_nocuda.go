//go:build nocuda

package dl

const tag = " with the build tag nocuda"
