package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"

	engine "modernc.org/sqlite"
)

// maxStatements is the number of prepared statements that a connection keeps. The store and
// the queue together have about a hundred.
const maxStatements = 128

// database opens a file with a number of connections, which stay open and keep their
// prepared statements: to parse one takes longer than most of them run. begun hears of each
// transaction; it may be nil.
func database(name string, conns int, begun func()) (*sql.DB, error) {
	base, err := engine.NewConnector(name)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{base, begun})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

type connector struct {
	driver.Connector

	begun func()
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := opened.(connection)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connection is a %T", opened), opened.Close())
	}
	return &conn{connection: able, begun: c.begun}, nil
}

// connection is the door of the driver's connections.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection that keeps its prepared statements, the last used ones last.
type conn struct {
	connection

	begun func() // may be nil
	kept  []statement
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.begun != nil {
		c.begun()
	}
	return c.connection.BeginTx(ctx, opts)
}

// statement is a prepared statement with its text.
type statement struct {
	prepared

	text string
}

type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// take returns a statement that nothing else uses until it is kept or closed.
func (c *conn) take(ctx context.Context, text string) (statement, error) {
	for i, s := range slices.Backward(c.kept) {
		if s.text == text {
			c.kept = slices.Delete(c.kept, i, i+1)
			return s, nil
		}
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return statement{}, err
	}
	able, ok := made.(prepared)
	if !ok {
		return statement{}, errors.Join(fmt.Errorf("statement is a %T", made), made.Close())
	}
	return statement{able, text}, nil
}

// keep takes a statement back after its use, and closes the one whose use is longest ago if
// there are too many.
func (c *conn) keep(s statement) error {
	c.kept = append(c.kept, s)
	if len(c.kept) <= maxStatements {
		return nil
	}
	old := c.kept[0]
	c.kept = slices.Delete(c.kept, 0, 1)
	return old.Close()
}

// ExecContext implements [driver.ExecerContext]. A statement that failed is not kept.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		_ = s.Close() // tells the same
		return nil, err
	}
	return result, c.keep(s)
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	found, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = s.Close() // tells the same
		return nil, err
	}
	return &rows{Rows: found, conn: c, of: s}, nil
}

// Close implements [driver.Conn].
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.kept {
		errs = append(errs, s.Close())
	}
	c.kept = nil
	return errors.Join(append(errs, c.connection.Close())...)
}

// rows has the rows of a statement; the statement is kept when they are closed.
type rows struct {
	driver.Rows

	conn   *conn
	of     statement
	failed bool
}

// Next implements [driver.Rows].
func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	r.failed = r.failed || err != nil && !errors.Is(err, io.EOF)
	return err
}

// Close implements [driver.Rows].
func (r *rows) Close() error {
	if err := r.Rows.Close(); err != nil || r.failed {
		return errors.Join(err, r.of.Close())
	}
	return r.conn.keep(r.of)
}
