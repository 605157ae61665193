package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// vector is a direction in eight bits for each dimension. Its length is 1 if each number
// is multiplied by the scale. A scale of 0 means that there is none.
type vector struct {
	scale float32
	data  []int8
}

// quantize returns the direction of v, whose numbers are finite and not all zero.
func quantize(v []float32) vector {
	length, longest := 0.0, 0.0
	for _, x := range v {
		length += float64(x) * float64(x)
		longest = max(longest, math.Abs(float64(x)))
	}
	if !(longest > 0) || math.IsInf(length, 0) {
		return vector{}
	}
	out := vector{scale: float32(longest / 127 / math.Sqrt(length)), data: make([]int8, len(v))}
	for i, x := range v {
		out.data[i] = int8(math.Round(float64(x) * 127 / longest))
	}
	return out
}

// packed is a vector for comparisons with many. Numbers are shifted to 0…255, and two of
// them are in each word, so that one multiplication of 64 bits makes two products and adds
// them: (x + y<<32) * (v + u<<32) has x*u + y*v in its upper half.
type packed struct {
	scale float32
	words []uint64
	sum   int64 // of the shifted numbers
	width int   // in bytes of the compared rows
}

const (
	shift = 128
	lanes = 0x000000FF000000FF
)

func pack(v vector) packed {
	p := packed{scale: v.scale, width: width(len(v.data))}
	row := make([]byte, 0, p.width)
	row = appendRow(row, v.data)
	for i := 0; i < len(row); i += 8 {
		for k := range 4 {
			p.words = append(p.words, uint64(row[i+k+4])|uint64(row[i+k])<<32)
		}
	}
	p.sum = sumOf(row)
	return p
}

// near returns the cosine of the angle between two directions.
func (p packed) near(scale float32, row []byte, sum int64) float32 {
	return p.scale * scale * float32(p.dot(row, sum))
}

// dot returns the scalar product with the numbers of a row, whose shifted sum is known.
func (p packed) dot(row []byte, sum int64) int64 {
	var s0, s1, s2, s3 uint64
	words := p.words
	for len(row) >= 32 && len(words) >= 16 { // arrays of a known length need no checks of bounds
		r, w := (*[32]byte)(row), (*[16]uint64)(words)
		x0, x1 := binary.LittleEndian.Uint64(r[0:8]), binary.LittleEndian.Uint64(r[8:16])
		x2, x3 := binary.LittleEndian.Uint64(r[16:24]), binary.LittleEndian.Uint64(r[24:32])
		s0 += (x0&lanes)*w[0] + (x1&lanes)*w[4] + (x2&lanes)*w[8] + (x3&lanes)*w[12]
		s1 += (x0>>8&lanes)*w[1] + (x1>>8&lanes)*w[5] + (x2>>8&lanes)*w[9] + (x3>>8&lanes)*w[13]
		s2 += (x0>>16&lanes)*w[2] + (x1>>16&lanes)*w[6] + (x2>>16&lanes)*w[10] + (x3>>16&lanes)*w[14]
		s3 += (x0>>24&lanes)*w[3] + (x1>>24&lanes)*w[7] + (x2>>24&lanes)*w[11] + (x3>>24&lanes)*w[15]
		row, words = row[32:], words[16:]
	}
	for len(row) >= 8 && len(words) >= 4 {
		x := binary.LittleEndian.Uint64(row)
		s0 += (x&lanes)*words[0] + (x>>8&lanes)*words[1]
		s1 += (x>>16&lanes)*words[2] + (x>>24&lanes)*words[3]
		row, words = row[8:], words[4:]
	}
	product := int64(s0>>32) + int64(s1>>32) + int64(s2>>32) + int64(s3>>32)
	return product - shift*(sum+p.sum) + shift*shift*int64(p.width)
}

// width returns the length of a row with dim numbers.
func width(dim int) int { return (dim + 7) &^ 7 }

// appendRow appends numbers shifted to 0…255, and zeros up to a multiple of eight.
func appendRow(row []byte, data []int8) []byte {
	for _, x := range data {
		row = append(row, byte(int(x)+shift))
	}
	for range width(len(data)) - len(data) {
		row = append(row, shift)
	}
	return row
}

func sumOf(row []byte) (sum int64) {
	for _, x := range row {
		sum += int64(x)
	}
	return sum
}

// blob has the vectors of a file's chunks, in their order.
type blob struct {
	spans []span
	scale []float32 // 0 for a chunk without a vector
	sums  []int64
	rows  []byte // one for each chunk, see appendRow
	dim   int
}

func (b *blob) add(s span, v vector) {
	if v.scale == 0 {
		v.data = make([]int8, b.dim)
	}
	b.spans = append(b.spans, s)
	b.scale = append(b.scale, v.scale)
	b.rows = appendRow(b.rows, v.data)
	b.sums = append(b.sums, sumOf(b.row(len(b.spans)-1)))
}

// row returns the numbers of a chunk.
func (b *blob) row(chunk int) []byte {
	w := width(b.dim)
	return b.rows[chunk*w : (chunk+1)*w]
}

// size returns the approximate memory of a blob in bytes.
func (b *blob) size() int { return 120 + 28*len(b.spans) + len(b.rows) }

// bytes returns the stored form: the dimension and the number of chunks, then for each its
// lines, its scale and its numbers.
func (b *blob) bytes() []byte {
	out := binary.AppendUvarint(nil, uint64(b.dim))
	out = binary.AppendUvarint(out, uint64(len(b.spans)))
	for i, s := range b.spans {
		out = binary.AppendUvarint(out, uint64(s.from))
		out = binary.AppendUvarint(out, uint64(s.to))
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(b.scale[i]))
		for _, x := range b.row(i)[:b.dim] {
			out = append(out, x-shift)
		}
	}
	return out
}

var errStored = errors.New("the stored vectors of a file cannot be read")

// parseBlob reads the stored form of vectors with dim numbers.
func parseBlob(data []byte, dim int) (*blob, error) {
	number := func() int {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > math.MaxInt32 {
			data = nil
			return -1
		}
		data = data[size:]
		return int(n)
	}
	b := &blob{dim: number()}
	count := number()
	if b.dim != dim || count < 0 || count > maxFileChunks {
		return nil, fmt.Errorf("%w: %d chunks of %d numbers, not of %d", errStored, count, b.dim, dim)
	}
	for range count {
		s := span{number(), number()}
		if len(data) < 4+dim || s.from < 1 || s.to < s.from {
			return nil, errStored
		}
		v := vector{scale: math.Float32frombits(binary.LittleEndian.Uint32(data)), data: make([]int8, dim)}
		for i, x := range data[4 : 4+dim] {
			v.data[i] = int8(x)
		}
		b.add(s, v)
		data = data[4+dim:]
	}
	if len(data) > 0 {
		return nil, errStored
	}
	return b, nil
}
