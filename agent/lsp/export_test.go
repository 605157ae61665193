package lsp

import "time"

// SetPause sets the time in which the server begins its next work, and returns that before.
func (c *Client) SetPause(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pause
	c.pause = d
	return before
}
