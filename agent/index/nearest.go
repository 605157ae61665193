package index

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
)

// near is a chunk of a list of blobs, and the cosine of its angle to the question.
type near struct {
	blob, chunk int
	near        float32
}

// maxHelpers is the maximum number of goroutines that compare.
const maxHelpers = 4

// nearest returns the k nearest chunks, nearest first.
func nearest(q vector, blobs []*blob, k int) []near {
	helpers := min(maxHelpers, runtime.GOMAXPROCS(0), len(blobs)/64+1)
	found := make([][]near, helpers)
	p := pack(q)
	var wg sync.WaitGroup
	for h := range helpers {
		from, to := h*len(blobs)/helpers, (h+1)*len(blobs)/helpers
		wg.Go(func() { found[h] = nearestOf(p, len(q.data), blobs[from:to], from, k) })
	}
	wg.Wait()
	return best(slices.Concat(found...), k)
}

// nearestOf is nearest for one goroutine. base is the index of the first blob.
func nearestOf(q packed, dim int, blobs []*blob, base, k int) []near {
	var out []near
	low := float32(-2) // nothing below it can be among the k nearest
	for i, b := range blobs {
		if b.dim != dim {
			continue
		}
		for c, scale := range b.scale {
			if scale == 0 {
				continue
			}
			score := q.near(scale, b.row(c), b.sums[c])
			if score <= low {
				continue
			}
			if out = append(out, near{base + i, c, score}); len(out) >= 4*k {
				out = best(out, k)
				low = out[len(out)-1].near
			}
		}
	}
	return best(out, k)
}

// best sorts chunks and returns the first k.
func best(list []near, k int) []near {
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.blob, b.blob), cmp.Compare(a.chunk, b.chunk))
	})
	return list[:min(len(list), k)]
}
