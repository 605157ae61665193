package door

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	gap          = 2 // columns between two cells
	defaultWidth = 80
	minWidth     = 40
)

func (w *Console) columns() int {
	if w.Width == 0 {
		return defaultWidth
	}
	return max(w.Width, minWidth)
}

// Table writes rows of cells in columns to w.Out, at most w.Width wide. A cell that
// is too long goes on below itself, so that no text is lost. The last cell of a row with
// fewer cells than others has the rest of its line.
func (w *Console) Table(rows [][]string) error { return writeTable(w.Out, w.columns(), rows) }

// Lines writes rows like [Console.Table], but cuts off the last cell of a row with all columns,
// so that the row is one line.
func (w *Console) Lines(rows [][]string) error {
	last := len(rows[0]) - 1
	cut := make([][]string, len(rows))
	for i, row := range rows {
		cut[i] = slices.Clone(row)
		if len(row) > last {
			cut[i][last] = ""
		}
	}
	room := w.columns() - sum(fit(cut, w.columns())) - gap*last
	for i, row := range rows {
		if len(row) > last {
			cut[i][last] = ansi.Truncate(row[last], max(room, 1), "…")
		}
	}
	return w.Table(cut)
}

// Note writes a text behind a mark, at most w.Width wide. Further lines begin below
// the text.
func (w *Console) Note(mark, text string) {
	rest := max(w.columns()-ansi.StringWidth(mark), 1)
	lines := wrapAtSpaces(text, rest)
	indent := "\n" + strings.Repeat(" ", ansi.StringWidth(mark))
	fmt.Fprintln(w.Out, mark+strings.Join(lines, indent))
}

func writeTable(out io.Writer, width int, rows [][]string) error {
	widths := fit(rows, width)
	for _, row := range rows {
		if _, err := io.WriteString(out, layRow(row, widths, width)); err != nil {
			return err
		}
	}
	return nil
}

// layRow returns the lines of one row.
func layRow(row []string, widths []int, width int) string {
	var cells [][]string
	var at []int
	height, column := 1, 0
	for i, text := range row {
		room := widths[i]
		if i == len(row)-1 {
			room = width - column
		}
		lines := wrap(text, max(room, 1))
		cells, at = append(cells, lines), append(at, column)
		height, column = max(height, len(lines)), column+widths[i]+gap
	}
	var b strings.Builder
	for n := range height {
		var line strings.Builder
		for i, lines := range cells {
			if n < len(lines) && lines[n] != "" {
				line.WriteString(strings.Repeat(" ", max(at[i]-ansi.StringWidth(line.String()), 0)))
				line.WriteString(lines[n])
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// fit returns the width of each column. The first names its row, and gives way only beyond
// half of the line; the widest of the others give way together.
func fit(rows [][]string, width int) []int {
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	widths := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row {
			if i < len(row)-1 || len(row) == columns {
				widths[i] = max(widths[i], ansi.StringWidth(cell))
			}
		}
	}
	if columns < 2 {
		return widths
	}
	widths[0] = min(widths[0], width/2)
	room := width - widths[0] - gap*(columns-1)
	for cut := width; sum(widths[1:]) > room && cut > 1; cut-- {
		for i := range widths[1:] {
			widths[i+1] = min(widths[i+1], cut)
		}
	}
	return widths
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

// wrapAtSpaces divides a text into lines of at most room columns. Words, such as those of a
// command to copy, stay whole if they fit.
func wrapAtSpaces(text string, room int) (lines []string) {
	for part := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(part) {
			switch {
			case line == "":
				line = word
			case ansi.StringWidth(line+" "+word) <= room:
				line += " " + word
			default:
				lines, line = append(lines, line), word
			}
			if ansi.StringWidth(line) > room { // a word longer than a line
				pieces := wrap(line, room)
				lines, line = append(lines, pieces[:len(pieces)-1]...), pieces[len(pieces)-1]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// wrap divides a text into lines of at most room columns. [ansi.Wrap] lets a breakpoint stand
// one column beyond.
func wrap(text string, room int) []string {
	lines := strings.Split(ansi.Wrap(text, room, "/,"), "\n")
	for _, l := range lines {
		if ansi.StringWidth(l) > room && room > 1 {
			return strings.Split(ansi.Wrap(text, room-1, "/,"), "\n")
		}
	}
	return lines
}
