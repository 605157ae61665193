package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
)

// opened is one connection to a new file with a table of the numbers 1 to 3.
func opened(t *testing.T) *sql.Conn {
	t.Helper()
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(t.TempDir(), "a.db")}
	db, err := database(file.String(), 1, nil)
	noError(t, err)
	t.Cleanup(func() { noError(t, db.Close()) })
	only, err := db.Conn(t.Context())
	noError(t, err)
	t.Cleanup(func() { noError(t, only.Close()) })
	for _, text := range []string{"CREATE TABLE n (i INTEGER PRIMARY KEY)", "INSERT INTO n VALUES (1), (2), (3)"} {
		_, err := only.ExecContext(t.Context(), text)
		noError(t, err)
	}
	return only
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keeps returns the statements that a connection keeps, as they are prepared, by their text.
func keeps(t *testing.T, c *sql.Conn) map[string]prepared {
	t.Helper()
	out := map[string]prepared{}
	noError(t, c.Raw(func(raw any) error {
		own, ok := raw.(*conn)
		if !ok {
			return fmt.Errorf("connection is a %T", raw)
		}
		for _, s := range own.kept {
			if out[s.text] != nil {
				t.Errorf("%q is kept twice", s.text)
			}
			out[s.text] = s.prepared
		}
		return nil
	}))
	return out
}

func numbers(ctx context.Context, t *testing.T, c *sql.Conn, text string, args ...any) (out []int) {
	t.Helper()
	rows, err := c.QueryContext(ctx, text, args...)
	noError(t, err)
	defer func() { noError(t, rows.Close()) }()
	for rows.Next() {
		var n int
		noError(t, rows.Scan(&n))
		out = append(out, n)
	}
	noError(t, rows.Err())
	return out
}

const above = "SELECT i FROM n WHERE i > ? ORDER BY i"

// A statement is prepared once, and each use has its own arguments and rows.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	c := opened(t)
	var first prepared
	for i, want := range [][]int{{1, 2, 3}, {2, 3}, {3}, nil, {1, 2, 3}} {
		if got := numbers(t.Context(), t, c, above, i%4); !slices.Equal(got, want) {
			t.Errorf("above %d are %v, want %v", i%4, got, want)
		}
		now := keeps(t, c)[above]
		if i == 0 {
			first = now
		}
		if now == nil || now != first {
			t.Errorf("use %d did not keep the statement, or prepared it anew", i)
		}
	}
	var n int
	noError(t, c.QueryRowContext(t.Context(), above, 0).Scan(&n)) // leaves rows unread
	if got := numbers(t.Context(), t, c, above, 1); n != 1 || !slices.Equal(got, []int{2, 3}) {
		t.Errorf("after %d come %v", n, got)
	}
}

// A statement that is in use is not taken for a second use of the same text.
func TestStatementInUse(t *testing.T) {
	t.Parallel()
	c := opened(t)
	outer, err := c.QueryContext(t.Context(), above, 0)
	noError(t, err)
	defer func() { noError(t, outer.Close()) }()
	var got []int
	for outer.Next() {
		var n int
		noError(t, outer.Scan(&n))
		got = append(got, n)
		if inner := numbers(t.Context(), t, c, above, n); len(inner) != 3-n {
			t.Errorf("above %d are %v", n, inner)
		}
	}
	noError(t, outer.Err())
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the outer rows are %v", got)
	}
}

// A connection keeps no more statements than its limit, and those that were used last. One
// that failed is not kept, and the next use of its text works.
func TestStatementsAreLimited(t *testing.T) {
	t.Parallel()
	c := opened(t)
	for i := range maxStatements + 10 {
		numbers(t.Context(), t, c, fmt.Sprintf("SELECT %d", i))
		numbers(t.Context(), t, c, above, 0)
	}
	kept := keeps(t, c)
	if len(kept) > maxStatements || kept[above] == nil || kept[fmt.Sprintf("SELECT %d", maxStatements+9)] == nil || kept["SELECT 0"] != nil {
		t.Errorf("%d statements are kept: %v", len(kept), kept)
	}
	const add = "INSERT INTO n VALUES (?)"
	for i, fails := range []bool{false, true, false} {
		_, err := c.ExecContext(t.Context(), add, []int{4, 4, 5}[i])
		if (err != nil) != fails || (keeps(t, c)[add] == nil) != fails {
			t.Errorf("use %d: %v, kept: %v", i, err, keeps(t, c)[add])
		}
	}
	if got := numbers(t.Context(), t, c, above, 0); !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
		t.Errorf("the numbers are %v", got)
	}
}

// Kept statements follow a change of the tables.
func TestStatementsAfterAChangeOfTables(t *testing.T) {
	t.Parallel()
	c := opened(t)
	const all = "SELECT * FROM n ORDER BY i"
	numbers(t.Context(), t, c, all)
	for _, text := range []string{"ALTER TABLE n ADD COLUMN j INTEGER DEFAULT 7", "DROP TABLE n", "CREATE TABLE n (i INTEGER)"} {
		_, err := c.ExecContext(t.Context(), text)
		noError(t, err)
		if text[0] == 'A' {
			var i, j int
			noError(t, c.QueryRowContext(t.Context(), all).Scan(&i, &j))
			if i != 1 || j != 7 {
				t.Errorf("the row is %d, %d", i, j)
			}
		}
	}
	if got := numbers(t.Context(), t, c, all); len(got) != 0 {
		t.Errorf("the new table has %v", got)
	}
}
