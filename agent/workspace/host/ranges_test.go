package host

import (
	"fmt"
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
)

func TestNormalize(t *testing.T) {
	r := func(from, to int) workspace.Range { return workspace.Range{From: from, To: to} }
	for _, tt := range []struct {
		in, want []workspace.Range
	}{
		{nil, []workspace.Range{r(1, 0)}},
		{[]workspace.Range{r(5, 3)}, []workspace.Range{}},
		{[]workspace.Range{r(-4, 2), r(3, 4)}, []workspace.Range{r(1, 4)}},
		{[]workspace.Range{r(10, 20), r(1, 2), r(12, 15)}, []workspace.Range{r(1, 2), r(10, 20)}},
		{[]workspace.Range{r(3, 0), r(5, 9)}, []workspace.Range{r(3, 0)}},
	} {
		if got := normalize(tt.in); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%v: %v, want %v", tt.in, got, tt.want)
		}
	}
}
