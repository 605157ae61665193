package ghapp

// outgoing is w with every text passed through the configured output gate.
// It is asked before a write is performed and before it is looked for, so
// both see the same text.
func (c *Client) outgoing(w Write) Write {
	clean := c.app.cfg.Clean
	if clean == nil {
		return w
	}
	w.Title, w.Body = clean(w.Title), clean(w.Body)
	if w.Pull != nil {
		p := *w.Pull
		p.Title, p.Body = clean(p.Title), clean(p.Body)
		w.Pull = &p
	}
	if w.Review != nil {
		r := *w.Review
		r.Body = clean(r.Body)
		r.Comments = append([]Inline(nil), r.Comments...)
		for i := range r.Comments {
			r.Comments[i].Body = clean(r.Comments[i].Body) //control:github-gate-inline
		}
		w.Review = &r
	}
	if w.Check != nil {
		k := *w.Check
		k.Name, k.Title, k.Summary, k.Text = clean(k.Name), clean(k.Title), clean(k.Summary), clean(k.Text)
		w.Check = &k
	}
	return w
}
