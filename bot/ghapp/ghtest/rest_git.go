package ghtest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

func (s *shaper) refShape(r *hub.Repo, ref, sha string) object {
	return object{"ref": ref, "url": s.api(r, "/git/"+ref),
		"object": object{"type": "commit", "sha": sha, "url": s.api(r, "/git/commits/"+sha)}}
}

func getRef(c *call) (int, any, error) {
	ref := "refs/" + c.params["ref"]
	sha := c.repo.Dir.Exact(ref)
	if sha == "" {
		return 0, nil, hub.NotFound()
	}
	return 200, c.s.refShape(c.repo, ref, sha), nil
}

func createRef(c *call) (int, any, error) {
	var req struct{ Ref, Sha string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	if !strings.HasPrefix(req.Ref, "refs/") || strings.Count(req.Ref, "/") < 2 {
		return 0, nil, &hub.Refused{Status: 422, Message: "Reference name is not valid"}
	}
	if c.repo.Dir.Exact(req.Ref) != "" {
		return 0, nil, &hub.Refused{Status: 422, Message: "Reference already exists"}
	}
	if c.repo.Dir.Resolve(req.Sha) != req.Sha {
		return 0, nil, &hub.Refused{Status: 422, Message: "object does not exist"}
	}
	return moveRef(c, refMove{req.Ref, "", req.Sha}, 201)
}

type refMove struct{ ref, before, after string }

func moveRef(c *call, m refMove, status int) (int, any, error) {
	args := []string{"update-ref", m.ref, m.after}
	if m.after == "" {
		args = []string{"update-ref", "-d", m.ref}
	}
	if _, err := c.repo.Dir.Run(nil, args...); err != nil {
		return 0, nil, &hub.Refused{Status: 422, Message: "Reference name is not valid"}
	}
	if b, ok := strings.CutPrefix(m.ref, "refs/heads/"); ok {
		c.s.BranchMoved(hub.Move{Repo: c.repo, Branch: b, Before: m.before, After: m.after, By: c.who.user})
	}
	if m.after == "" {
		return status, nil, nil
	}
	return status, c.s.refShape(c.repo, m.ref, m.after), nil
}

func updateRef(c *call) (int, any, error) {
	var req struct {
		Sha   string
		Force bool
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	ref := "refs/" + c.params["ref"]
	before := c.repo.Dir.Exact(ref)
	if before == "" {
		return 0, nil, &hub.Refused{Status: 422, Message: "Reference does not exist"}
	}
	if c.repo.Dir.Resolve(req.Sha) != req.Sha {
		return 0, nil, &hub.Refused{Status: 422, Message: "object does not exist"}
	}
	rule, protected := c.repo.Protected[strings.TrimPrefix(ref, "refs/heads/")]
	if protected && rule.RequirePull {
		return 0, nil, &hub.Refused{Status: 422, Message: "Changes must be made through a pull request."}
	}
	if !req.Force || protected {
		if _, err := c.repo.Dir.Run(nil, "merge-base", "--is-ancestor", before, req.Sha); err != nil {
			return 0, nil, &hub.Refused{Status: 422, Message: "Update is not a fast forward"}
		}
	}
	return moveRef(c, refMove{ref, before, req.Sha}, 200)
}

func deleteRef(c *call) (int, any, error) {
	ref := "refs/" + c.params["ref"]
	before := c.repo.Dir.Exact(ref)
	if before == "" {
		return 0, nil, &hub.Refused{Status: 422, Message: "Reference does not exist"}
	}
	if _, ok := c.repo.Protected[strings.TrimPrefix(ref, "refs/heads/")]; ok {
		return 0, nil, &hub.Refused{Status: 422, Message: "Cannot delete this protected branch"}
	}
	return moveRef(c, refMove{ref, before, ""}, 204)
}

func createBlob(c *call) (int, any, error) {
	var req struct{ Content, Encoding string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	data := []byte(req.Content)
	if req.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(req.Content); err != nil {
			return 0, nil, &hub.Refused{Status: 422, Message: "content is not valid Base64"}
		}
	}
	out, err := c.repo.Dir.Run(data, "hash-object", "-w", "--stdin")
	if err != nil {
		return 0, nil, err
	}
	sha := strings.TrimSpace(out)
	return 201, object{"sha": sha, "url": c.s.api(c.repo, "/git/blobs/"+sha)}, nil
}

// createTree builds a tree in the way that GitHub documents: entries are applied to a
// base tree, and a null id deletes.
func createTree(c *call) (int, any, error) {
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
	base, err := c.repo.Dir.Flat(req.BaseTree)
	if err != nil {
		return 0, nil, &hub.Refused{Status: 422, Message: "base_tree is not a tree"}
	}
	for _, e := range req.Tree {
		switch {
		case e.Content != nil:
			out, err := c.repo.Dir.Run([]byte(*e.Content), "hash-object", "-w", "--stdin")
			if err != nil {
				return 0, nil, err
			}
			base[e.Path] = bare.Entry{Mode: e.Mode, Kind: "blob", SHA: strings.TrimSpace(out), Name: e.Path}
		case e.Sha != nil:
			base[e.Path] = bare.Entry{Mode: e.Mode, Kind: e.Type, SHA: *e.Sha, Name: e.Path}
		default:
			delete(base, e.Path)
		}
	}
	sha, err := c.repo.Dir.WriteTree(base)
	if err != nil {
		return 0, nil, &hub.Refused{Status: 422, Message: "GitRPC::BadObjectState"}
	}
	return treeAnswer(c, sha, false, 201)
}

func getTree(c *call) (int, any, error) {
	sha := c.params["tree_sha"]
	if commit := c.repo.Dir.Resolve(sha); commit != "" {
		sha = commit
	}
	tree, err := c.repo.Dir.Line("rev-parse", "--verify", "--quiet", "--end-of-options", sha+"^{tree}")
	if err != nil {
		return 0, nil, hub.NotFound()
	}
	return treeAnswer(c, tree, c.query("recursive") != "", 200)
}

func treeAnswer(c *call, sha string, recursive bool, status int) (int, any, error) {
	args := []string{"ls-tree", "-z", "-l"}
	if recursive {
		args = append(args, "-r", "-t")
	}
	out, err := c.repo.Dir.Run(nil, append(args, sha)...)
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
			e["url"] = c.s.api(c.repo, "/git/blobs/"+f[2])
		}
		list = append(list, e)
	}
	return status, object{"sha": sha, "url": c.s.api(c.repo, "/git/trees/"+sha), "tree": list, "truncated": false}, nil
}

func createCommit(c *call) (int, any, error) {
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
	if c.repo.Dir.Exact(req.Tree+"^{tree}") == "" {
		return 0, nil, &hub.Refused{Status: 422, Message: "Tree SHA does not exist"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", req.Tree)
	for _, p := range req.Parents {
		if c.repo.Dir.Resolve(p) != p {
			return 0, nil, &hub.Refused{Status: 422, Message: "Parent SHA does not exist or is not a commit object"}
		}
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	line := func(w *who) string {
		name, mail, at := c.who.user.Login, noReply(&c.s.shaper, c.who.user), c.s.Now()
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
	own := req.Author == nil && req.Committer == nil && c.who.inst() != nil && c.s.sign != nil
	if own { // commits in an App's own name are made and signed by GitHub
		committer = line(&who{Name: "GitHub", Email: "noreply@github.com"})
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", author, committer, req.Message)
	text := b.String()
	if own {
		sig, err := c.s.sign([]byte(text))
		if err != nil {
			return 0, nil, err
		}
		if head, message, _ := strings.Cut(text, "\n\n"); sig != "" { // a server need not sign
			text = head + "\ngpgsig " + strings.ReplaceAll(sig, "\n", "\n ") + "\n\n" + message
		}
	}
	out, err := c.repo.Dir.Run([]byte(text), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return 0, nil, &hub.Refused{Status: http.StatusUnprocessableEntity, Message: "Invalid commit"}
	}
	v, err := c.s.gitCommit(c.repo, strings.TrimSpace(out))
	return 201, v, err
}

func (s *shaper) gitCommit(r *hub.Repo, sha string) (object, error) {
	v, err := s.commitShape(r, sha)
	if err != nil {
		return nil, err
	}
	raw, err := r.Dir.RunCached("cat-file", "commit", sha)
	if err != nil {
		return nil, err
	}
	in := v["commit"].(object)
	return object{"sha": sha, "url": s.api(r, "/git/commits/"+sha), "html_url": s.page(r, "/commit/"+sha),
		"author": in["author"], "committer": in["committer"], "message": in["message"], "tree": in["tree"],
		"parents": v["parents"], "verification": verification(s.signature, raw)}, nil
}

// verification returns the verification of a commit's signature: only GitHub's own
// signatures are valid, because the fake knows no other keys.
func verification(look func(string) (payload, signature string, valid bool), commit string) object {
	payload, sig, valid := commit, "", false
	if look != nil {
		payload, sig, valid = look(commit)
	}
	switch {
	case sig == "":
		return object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
	case !valid:
		return object{"verified": false, "reason": "unknown_key", "signature": sig, "payload": payload, "verified_at": nil}
	}
	return object{
		"verified":    true,
		"reason":      "valid",
		"signature":   sig,
		"payload":     payload,
		"verified_at": "2026-01-01T00:00:00Z",
	}
}

// noReply returns the noreply address of an account.
func noReply(s *shaper, u *hub.User) string {
	host := "github.com"
	if at, err := url.Parse(s.url); err == nil {
		host = at.Hostname()
	}
	return fmt.Sprintf("%d+%s@users.noreply.%s", u.ID, u.Login, host)
}

func getGitCommit(c *call) (int, any, error) {
	sha := c.repo.Dir.Resolve(c.params["commit_sha"])
	if sha == "" {
		return 0, nil, hub.NotFound()
	}
	v, err := c.s.gitCommit(c.repo, sha)
	return 200, v, err
}
