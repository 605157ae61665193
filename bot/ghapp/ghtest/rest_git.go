package ghtest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
)

func (s *Server) refShape(r *repo, ref, sha string) object {
	return object{"ref": ref, "url": s.api(r, "/git/"+ref),
		"object": object{"type": "commit", "sha": sha, "url": s.api(r, "/git/commits/"+sha)}}
}

func (d gitDir) exact(ref string) string {
	sha, err := d.line("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
	if err != nil {
		return ""
	}
	return sha
}

func (s *Server) getRef(c *call) (int, any, error) {
	ref := "refs/" + c.params["ref"]
	sha := c.repo.dir.exact(ref)
	if sha == "" {
		return 0, nil, notFound()
	}
	return 200, s.refShape(c.repo, ref, sha), nil
}

func (s *Server) createRef(c *call) (int, any, error) {
	var req struct{ Ref, Sha string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if !strings.HasPrefix(req.Ref, "refs/") || strings.Count(req.Ref, "/") < 2 {
		return 0, nil, &apiError{status: 422, message: "Reference name is not valid"}
	}
	if c.repo.dir.exact(req.Ref) != "" {
		return 0, nil, &apiError{status: 422, message: "Reference already exists"}
	}
	if c.repo.dir.resolve(req.Sha) != req.Sha {
		return 0, nil, &apiError{status: 422, message: "Object does not exist"}
	}
	return s.moveRef(c, refMove{req.Ref, "", req.Sha}, 201)
}

type refMove struct{ ref, before, after string }

func (s *Server) moveRef(c *call, m refMove, status int) (int, any, error) {
	args := []string{"update-ref", m.ref, m.after}
	if m.after == "" {
		args = []string{"update-ref", "-d", m.ref}
	}
	if _, err := c.repo.dir.run(nil, args...); err != nil {
		return 0, nil, &apiError{status: 422, message: "Reference name is not valid"}
	}
	if b, ok := strings.CutPrefix(m.ref, "refs/heads/"); ok {
		s.branchMoved(move{c.repo, b, m.before, m.after, c.who.user})
	}
	if m.after == "" {
		return status, nil, nil
	}
	return status, s.refShape(c.repo, m.ref, m.after), nil
}

func (s *Server) updateRef(c *call) (int, any, error) {
	var req struct {
		Sha   string
		Force bool
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	ref := "refs/" + c.params["ref"]
	before := c.repo.dir.exact(ref)
	if before == "" {
		return 0, nil, &apiError{status: 422, message: "Reference does not exist"}
	}
	if c.repo.dir.resolve(req.Sha) != req.Sha {
		return 0, nil, &apiError{status: 422, message: "Object does not exist"}
	}
	rule, protected := c.repo.protected[strings.TrimPrefix(ref, "refs/heads/")]
	if protected && rule.RequirePull {
		return 0, nil, &apiError{status: 422, message: "Changes must be made through a pull request."}
	}
	if !req.Force || protected {
		if _, err := c.repo.dir.run(nil, "merge-base", "--is-ancestor", before, req.Sha); err != nil {
			return 0, nil, &apiError{status: 422, message: "Update is not a fast forward"}
		}
	}
	return s.moveRef(c, refMove{ref, before, req.Sha}, 200)
}

func (s *Server) deleteRef(c *call) (int, any, error) {
	ref := "refs/" + c.params["ref"]
	before := c.repo.dir.exact(ref)
	if before == "" {
		return 0, nil, &apiError{status: 422, message: "Reference does not exist"}
	}
	if _, ok := c.repo.protected[strings.TrimPrefix(ref, "refs/heads/")]; ok {
		return 0, nil, &apiError{status: 422, message: "Cannot delete this protected branch"}
	}
	return s.moveRef(c, refMove{ref, before, ""}, 204)
}

func (s *Server) createBlob(c *call) (int, any, error) {
	var req struct{ Content, Encoding string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	data := []byte(req.Content)
	if req.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(req.Content); err != nil {
			return 0, nil, &apiError{status: 422, message: "content is not valid Base64"}
		}
	}
	out, err := c.repo.dir.run(data, "hash-object", "-w", "--stdin")
	if err != nil {
		return 0, nil, err
	}
	sha := strings.TrimSpace(out)
	return 201, object{"sha": sha, "url": s.api(c.repo, "/git/blobs/"+sha)}, nil
}

// createTree builds a tree with a temporary index, as GitHub's description
// says: entries over a base, a null id deletes.
func (s *Server) createTree(c *call) (int, any, error) {
	var req struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			Sha              *string
			Content          *string
		}
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	base := map[string]treeEntry{}
	if req.BaseTree != "" {
		out, err := c.repo.dir.run(nil, "ls-tree", "-r", "-z", "--end-of-options", req.BaseTree)
		if err != nil {
			return 0, nil, &apiError{status: 422, message: "base_tree is not a tree"}
		}
		for _, l := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
			meta, name, _ := strings.Cut(l, "\t")
			if f := strings.Fields(meta); len(f) == 3 {
				base[name] = treeEntry{f[0], f[1], f[2], name}
			}
		}
	}
	for _, e := range req.Tree {
		switch {
		case e.Content != nil:
			out, err := c.repo.dir.run([]byte(*e.Content), "hash-object", "-w", "--stdin")
			if err != nil {
				return 0, nil, err
			}
			base[e.Path] = treeEntry{e.Mode, "blob", strings.TrimSpace(out), e.Path}
		case e.Sha != nil:
			base[e.Path] = treeEntry{e.Mode, e.Type, *e.Sha, e.Path}
		default:
			delete(base, e.Path)
		}
	}
	sha, err := c.repo.dir.writeTree(base)
	if err != nil {
		return 0, nil, &apiError{status: 422, message: "GitRPC::BadObjectState"}
	}
	return s.treeAnswer(c, sha, false, 201)
}

// writeTree writes nested trees from flat paths, bottom up, by mktree.
func (d gitDir) writeTree(files map[string]treeEntry) (string, error) {
	var lines strings.Builder
	below := map[string]map[string]treeEntry{}
	for name, e := range files {
		dir, rest, nested := strings.Cut(name, "/")
		if !nested {
			fmt.Fprintf(&lines, "%s %s %s\t%s\x00", e.mode, e.kind, e.sha, name)
			continue
		}
		if below[dir] == nil {
			below[dir] = map[string]treeEntry{}
		}
		below[dir][rest] = e
	}
	for dir, sub := range below {
		sha, err := d.writeTree(sub)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "040000 tree %s\t%s\x00", sha, dir)
	}
	out, err := d.run([]byte(lines.String()), "mktree", "-z")
	return strings.TrimSpace(out), err
}

func (s *Server) getTree(c *call) (int, any, error) {
	sha := c.params["tree_sha"]
	if commit := c.repo.dir.resolve(sha); commit != "" {
		sha = commit
	}
	tree, err := c.repo.dir.line("rev-parse", "--verify", "--quiet", "--end-of-options", sha+"^{tree}")
	if err != nil {
		return 0, nil, notFound()
	}
	return s.treeAnswer(c, tree, c.query("recursive") != "", 200)
}

func (s *Server) treeAnswer(c *call, sha string, recursive bool, status int) (int, any, error) {
	args := []string{"ls-tree", "-z", "-l"}
	if recursive {
		args = append(args, "-r", "-t")
	}
	out, err := c.repo.dir.run(nil, append(args, sha)...)
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, l := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
		meta, name, _ := strings.Cut(l, "\t")
		f := strings.Fields(meta)
		if len(f) != 4 {
			continue
		}
		e := object{"mode": f[0], "type": f[1], "sha": f[2], "path": name}
		if f[1] == "blob" {
			var size int
			if _, err := fmt.Sscan(f[3], &size); err == nil {
				e["size"] = size
			}
			e["url"] = s.api(c.repo, "/git/blobs/"+f[2])
		}
		list = append(list, e)
	}
	return status, object{"sha": sha, "url": s.api(c.repo, "/git/trees/"+sha), "tree": list, "truncated": false}, nil
}

func (s *Server) createCommit(c *call) (int, any, error) {
	type who struct {
		Name, Email string
		Date        *time.Time
	}
	var req struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *who
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if c.repo.dir.exact(req.Tree+"^{tree}") == "" {
		return 0, nil, &apiError{status: 422, message: "Tree SHA does not exist"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", req.Tree)
	for _, p := range req.Parents {
		if c.repo.dir.resolve(p) != p {
			return 0, nil, &apiError{status: 422, message: "Parent SHA does not exist or is not a commit object"}
		}
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	line := func(w *who) string {
		name, mail, at := c.who.user.login, c.who.user.login+"@users.noreply.github.com", s.now()
		if w != nil {
			name, mail = w.Name, w.Email
			if w.Date != nil {
				at = *w.Date
			}
		}
		return fmt.Sprintf("%s <%s> %d +0000", name, mail, at.Unix())
	}
	author := line(req.Author)
	committer := author
	if req.Committer != nil {
		committer = line(req.Committer)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", author, committer, req.Message)
	out, err := c.repo.dir.run([]byte(b.String()), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return 0, nil, &apiError{status: http.StatusUnprocessableEntity, message: "Invalid commit"}
	}
	v, err := s.gitCommit(c.repo, strings.TrimSpace(out))
	return 201, v, err
}

func (s *Server) gitCommit(r *repo, sha string) (object, error) {
	v, err := s.commitShape(r, sha)
	if err != nil {
		return nil, err
	}
	in := v["commit"].(object)
	return object{"sha": sha, "url": s.api(r, "/git/commits/"+sha), "html_url": s.page(r, "/commit/"+sha),
		"author": in["author"], "committer": in["committer"], "message": in["message"], "tree": in["tree"],
		"parents": v["parents"], "verification": object{"verified": false, "reason": "unsigned",
			"signature": nil, "payload": nil, "verified_at": nil}}, nil
}

func (s *Server) getGitCommit(c *call) (int, any, error) {
	sha := c.repo.dir.resolve(c.params["commit_sha"])
	if sha == "" {
		return 0, nil, notFound()
	}
	v, err := s.gitCommit(c.repo, sha)
	return 200, v, err
}
