package threadref

import "context"

// Refresh is what UntilIdle does from time to time.
func (s *Store) Refresh(ctx context.Context) (moved bool, err error) { return s.refresh(ctx) }
