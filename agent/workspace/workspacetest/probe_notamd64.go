//go:build linux && !amd64

package workspacetest

var notProbedHere []uintptr

func otherForms() {}
