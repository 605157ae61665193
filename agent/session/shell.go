package session

// Shell is what a log says of the shell that commands run in.
type Shell struct {
	Dir string // where it stands, relative to the root; "" before the first command
}

// ran takes in a result.
func (s *Shell) ran(p *Result) {
	if p.Dir != "" {
		s.Dir = p.Dir
	}
}
