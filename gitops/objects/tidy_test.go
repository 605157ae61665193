package objects

import "testing"

func TestToJoin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sizes []int64
		want  int
	}{
		"a large one stays":  {[]int64{1000, 1, 1, 1, 1}, 4},
		"all alike":          {[]int64{5, 5, 5}, 3},
		"already in order":   {[]int64{100, 40, 10}, 0},
		"what grows with it": {[]int64{3, 3, 5, 1000}, 3},
		"none":               {nil, 0},
		"one":                {[]int64{7}, 0},
	} {
		var list []packFile
		for _, s := range tt.sizes {
			list = append(list, packFile{size: s})
		}
		if got := toJoin(list); len(got) != tt.want {
			t.Errorf("%s: %v, want the %d smallest", name, got, tt.want)
		}
	}
}
