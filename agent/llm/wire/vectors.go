package wire

import (
	"fmt"
	"math"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Vectors checks the vectors that a server returned for a number of texts, see
// [llm.Embedder].
func Vectors(texts int, list [][]float32) error {
	bad := func(format string, args ...any) error {
		return &llm.Error{Kind: llm.Invalid, Public: "the model server's answer has no usable vectors", Err: fmt.Errorf(format, args...)}
	}
	if len(list) != texts {
		return bad("%d vectors for %d texts", len(list), texts)
	}
	for i, v := range list {
		if len(v) == 0 || len(v) != len(list[0]) {
			return bad("vector %d has %d numbers, and the first has %d", i, len(v), len(list[0]))
		}
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if !(sum > 0) || math.IsInf(sum, 0) { // also not a number
			return bad("vector %d has the length %v", i, math.Sqrt(sum))
		}
	}
	return nil
}
