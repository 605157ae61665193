package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// random returns a vector of dim numbers, always the same for one seed.
func random(seed uint64, dim int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, dim)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// The angle between two vectors survives their eight bits, for any length and size.
func TestQuantize(t *testing.T) {
	for _, dim := range []int{1, 3, 16, 31, 384, 768} {
		for seed := range uint64(20) {
			a, b := random(2*seed, dim), random(2*seed+1, dim)
			for i := range b {
				b[i] = (b[i] + a[i]) * 1e-20
			}
			v, w := quantize(a), quantize(b)
			if got, want := nearness(v, w), cosine(a, b); math.Abs(got-want) > 0.02 {
				t.Errorf("%d numbers: %.4f, want %.4f", dim, got, want)
			}
		}
	}
	if v := quantize([]float32{0, 0}); v.scale != 0 {
		t.Errorf("no direction is %+v", v)
	}
}

// nearness compares two directions as a search does.
func nearness(v, w vector) float64 {
	b := &blob{dim: len(w.data)}
	b.add(span{1, 1}, w)
	return float64(pack(v).near(w.scale, b.row(0), b.sums[0]))
}

// Products are exact, also at the ends of the range.
func TestDot(t *testing.T) {
	for n := range 70 {
		for _, ends := range []bool{false, true} {
			a, b := make([]int8, n), make([]int8, n)
			want := int64(0)
			for i := range a {
				a[i], b[i] = int8(i*37), int8(-128+i*11)
				if ends {
					a[i], b[i] = 127, -128
				}
				want += int64(a[i]) * int64(b[i])
			}
			row := appendRow(nil, b)
			if got := pack(vector{data: a}).dot(row, sumOf(row)); got != want {
				t.Errorf("%d numbers: %d, want %d", n, got, want)
			}
		}
	}
}

// Stored vectors are read as they were written, and damaged ones are not read.
func TestStoredForm(t *testing.T) {
	b := &blob{dim: 5}
	b.add(span{1, 3}, quantize(random(1, 5)))
	b.add(span{4, 1000}, vector{})
	b.add(span{1001, 1001}, quantize(random(2, 5)))
	data := b.bytes()
	got, err := parseBlob(data, 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, got, cmp.AllowUnexported(blob{}, span{})); diff != "" {
		t.Error(diff)
	}
	for n := range data {
		if got, err := parseBlob(data[:n], 5); err == nil {
			t.Errorf("%d of %d bytes are %+v", n, len(data), got)
		}
	}
	if _, err := parseBlob(append(data, 0), 5); err == nil {
		t.Error("a longer text was read")
	}
	if _, err := parseBlob(data, 6); err == nil {
		t.Error("another dimension was read")
	}
}

// BenchmarkNear compares a question with 100,000 chunks of 768 numbers.
func BenchmarkNear(b *testing.B) {
	const chunks, dim = 100_000, 768
	var blobs []*blob
	for i := range chunks / 20 {
		one := &blob{dim: dim}
		for k := range 20 {
			one.add(span{1, 2}, quantize(random(uint64(i*20+k)%64, dim)))
		}
		blobs = append(blobs, one)
	}
	q := quantize(random(7, dim))
	for b.Loop() {
		nearest(q, blobs, 50)
	}
}
