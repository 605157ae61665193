package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/riverqueue/river"

	"github.com/handrail-bot/handrail/bot/store"
)

// Maximum size of one transaction. groupBytes bounds the memory of the statement.
const (
	groupDeliveries = 256
	groupBytes      = 32 << 20
)

var errClosed = errors.New("store is closed")

// committer stores deliveries in groups: while one transaction commits, new calls gather
// for the next.
type committer struct {
	*base

	in   chan *batch
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

// batch is one call of Put.
type batch struct {
	deliveries []*store.Delivery
	stored     []bool
	bytes      int
	result     chan error
}

func newCommitter(ctx context.Context, b *base) *committer {
	c := &committer{base: b, in: make(chan *batch), quit: make(chan struct{}), done: make(chan struct{})}
	go c.loop(ctx)
	return c
}

// close ends the loop after the running transaction.
func (c *committer) close() {
	c.once.Do(func() { close(c.quit) })
	<-c.done
}

// put hands a batch to the loop and waits for its commit.
func (c *committer) put(ctx context.Context, deliveries []*store.Delivery) ([]bool, error) {
	b := &batch{deliveries: deliveries, stored: make([]bool, len(deliveries)), result: make(chan error, 1)}
	for _, d := range deliveries {
		b.bytes += len(d.Payload)
	}
	select {
	case c.in <- b:
	case <-c.quit:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case err := <-b.result:
		return b.stored, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *committer) loop(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case first := <-c.in:
			c.commit(ctx, c.gather(first))
		case <-c.quit:
			return
		}
	}
}

// gather collects the batches that wait now, up to the size of a group.
func (c *committer) gather(first *batch) []*batch {
	group, n, size := []*batch{first}, len(first.deliveries), first.bytes
	for n < groupDeliveries && size < groupBytes {
		select {
		case next := <-c.in:
			group, n, size = append(group, next), n+len(next.deliveries), size+next.bytes
		default:
			return group
		}
	}
	return group
}

// commit stores a group. The transaction serves several callers, so no caller's context
// may end it. If a group fails, each call is retried alone, so that one bad delivery
// affects no other call.
func (c *committer) commit(ctx context.Context, group []*batch) {
	err := c.store(ctx, group)
	if err == nil || len(group) == 1 || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
		for _, b := range group {
			b.result <- err
		}
		return
	}
	for _, b := range group {
		b.result <- c.store(ctx, []*batch{b})
	}
}

// store stores a group in one transaction.
func (c *committer) store(ctx context.Context, group []*batch) error {
	wakes := newWakeSet()
	err := c.transact(ctx, func(q query) error {
		if c.Order != "" {
			if _, err := q.exec(ctx, c.Order); err != nil {
				return fmt.Errorf("order deliveries: %w", err)
			}
		}
		var all []*store.Delivery
		for _, b := range group {
			all = append(all, b.deliveries...)
		}
		seqs, err := insertDeliveries(ctx, q, all)
		if err != nil {
			return fmt.Errorf("store deliveries: %w", err)
		}
		for _, b := range group {
			for i, d := range b.deliveries {
				seq, isNew := seqs[d.ID]
				delete(seqs, d.ID) // a second one with the same id is a duplicate
				b.stored[i] = isNew
				if isNew {
					d.Seq = seq
					wakes.add(d)
				}
			}
		}
		jobs, err := wakes.needed(ctx, q)
		if err != nil {
			return err
		}
		return insertWakes(ctx, q, jobs)
	})
	if err == nil {
		wakes.nudge(c.base)
	}
	return err
}

// insertDeliveries stores the new deliveries and returns their numbers by id.
func insertDeliveries(ctx context.Context, q query, all []*store.Delivery) (map[string]int64, error) {
	const columns, chunk = 8, 64
	seqs := make(map[string]int64, len(all))
	for start := 0; start < len(all); start += chunk {
		part := all[start:min(start+chunk, len(all))]
		args := make([]any, 0, len(part)*columns)
		for _, d := range part {
			key := sql.NullString{String: d.Key, Valid: d.Key != ""}
			args = append(args, d.ID, key, d.Event, d.Thread, d.Sender, d.Priority, d.Payload, micros(d.Received))
		}
		stmt := `INSERT INTO deliveries (id, key, event, thread, sender, priority, payload, received) VALUES ` +
			marks(len(part), columns) + ` ON CONFLICT DO NOTHING RETURNING id, seq`
		err := q.rows(ctx, func(rows *sql.Rows) error {
			var id string
			var seq int64
			if err := rows.Scan(&id, &seq); err != nil {
				return err
			}
			seqs[id] = seq
			return nil
		}, stmt, args...)
		if err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// wakeSet holds one wake per thread, with the highest priority.
type wakeSet struct {
	params  []river.InsertManyParams
	waiting []store.Waiting
	index   map[string]int
	first   int64 // lowest number of a new delivery
}

func newWakeSet() *wakeSet { return &wakeSet{index: map[string]int{}} }

func (w *wakeSet) add(d *store.Delivery) {
	if w.first == 0 || d.Seq < w.first {
		w.first = d.Seq
	}
	i, ok := w.index[d.Thread]
	if !ok {
		w.index[d.Thread] = len(w.params)
		w.params = append(w.params, river.InsertManyParams{
			Args:       store.Wake{Thread: d.Thread, Sender: d.Sender},
			InsertOpts: &river.InsertOpts{Priority: d.Priority},
		})
		w.waiting = append(
			w.waiting,
			store.Waiting{Thread: d.Thread, Sender: d.Sender, Priority: d.Priority, Since: d.Received},
		)
		return
	}
	if d.Priority < w.waiting[i].Priority {
		w.waiting[i].Priority = d.Priority
		w.params[i].InsertOpts.Priority = d.Priority
	}
}

// needed omits the wakes of threads with an older, equally urgent delivery that is
// undone: that one has woken the thread already, and the thread's holder finds the new
// delivery before it releases the lease. This holds only if writes are serialized.
func (w *wakeSet) needed(ctx context.Context, q query) ([]river.InsertManyParams, error) {
	if q.Lane == nil || len(w.params) == 0 {
		return w.params, nil
	}
	args := make([]any, 0, 2*len(w.waiting)+1)
	for _, t := range w.waiting {
		args = append(args, t.Thread, t.Priority)
	}
	awake := map[string]bool{}
	err := q.rows(ctx, func(rows *sql.Rows) error {
		var thread string
		err := rows.Scan(&thread)
		awake[thread] = true
		return err
	}, `WITH new (thread, priority) AS (VALUES `+marks(len(w.waiting), 2)+`) SELECT thread FROM new WHERE EXISTS (
			SELECT 1 FROM deliveries d WHERE d.thread = new.thread AND d.done IS NULL AND d.seq < ? AND d.priority <= new.priority)`, append(args, w.first)...)
	if err != nil {
		return nil, fmt.Errorf("look for threads that are awake: %w", err)
	}
	var jobs []river.InsertManyParams
	for i, t := range w.waiting {
		if !awake[t.Thread] {
			jobs = append(jobs, w.params[i])
		}
	}
	return jobs, nil
}

// nudge notifies the queue of this process, unless its channel is full.
func (w *wakeSet) nudge(b *base) {
	for _, waiting := range w.waiting {
		b.nudge(waiting)
	}
}

func (b *base) nudge(w store.Waiting) {
	select {
	case b.nudges <- w:
	default:
	}
}

func insertWakes(ctx context.Context, q query, params []river.InsertManyParams) error {
	if len(params) == 0 {
		return nil
	}
	tx, ok := q.on.(Tx)
	if !ok {
		return errors.New("insert wakes: not in a transaction")
	}
	if err := q.Insert(ctx, tx, params); err != nil {
		return fmt.Errorf("insert wakes: %w", err)
	}
	return nil
}
